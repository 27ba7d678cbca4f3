package filelock

import "time"

const (
	roundEvery = time.Second
	roundSize  = 64
)

// lookAtHolds makes sure, while polling, that somebody looks from time to time whether a hold was broken: nobody can ring. It
// looks at a few locks at a time, so that it costs little however many are held.
func (st *Store) lookAtHolds() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.rounds == nil && !st.ended {
		st.rounds = time.AfterFunc(roundEvery, st.round)
	}
}

func (st *Store) round() {
	st.mu.Lock()
	var due []*lock
	any := false
	for _, lk := range st.locks { // in random order: everybody's turn comes
		if len(lk.attempts) == 0 {
			continue
		}
		any = true
		if due = append(due, lk); len(due) == roundSize {
			break
		}
	}
	st.rounds = nil
	if any && !st.ended {
		st.rounds = time.AfterFunc(roundEvery, st.round)
	}
	st.mu.Unlock()
	for _, lk := range due {
		st.poke(lk)
	}
}
