package filelock

import "time"

const (
	roundEvery = time.Second
	roundSize  = 64 // locks, at least
	lapRounds  = 10 // until all were looked at, at most
)

// lookAtHolds makes sure, while polling, that somebody looks from time to time whether a hold was broken: nobody can ring. Up to 64
// locks are looked at each second. If there are more, a part of them is, so that each has its turn within ten seconds; one that is
// taken meanwhile has it in the next ten.
func (st *Store) lookAtHolds() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.rounds == nil && !st.ended {
		st.rounds = time.AfterFunc(roundEvery, st.round)
	}
}

func (st *Store) round() {
	st.mu.Lock()
	due := st.nextDue()
	st.rounds = nil
	if len(due) > 0 && !st.ended {
		st.rounds = time.AfterFunc(roundEvery, st.round)
	}
	st.mu.Unlock()
	for _, lk := range due {
		st.poke(lk)
	}
}

// nextDue returns the locks that are to be looked at in this round. The mutex is held.
func (st *Store) nextDue() []*lock {
	if len(st.lap) == 0 {
		for _, lk := range st.locks {
			if len(lk.attempts) > 0 {
				st.lap = append(st.lap, lk)
			}
		}
		st.share = max(roundSize, (len(st.lap)+lapRounds-1)/lapRounds)
	}
	n := min(st.share, len(st.lap))
	due := st.lap[:n]
	st.lap = st.lap[n:]
	return due
}
