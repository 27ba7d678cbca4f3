package filelock

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// untilPrefix begins what stands in a watch for the end of a minimum hold.
const untilPrefix = "until "

// A watched client is one whose end this client must notice. A goroutine is parked in reading its pipe: the kernel ends that when
// the last writer, its process, has ended.
type watched struct {
	locks map[*lock]bool // who wants to know
	end   func()         // stops watching
}

// arrange sets up whatever wakes this client's waiters the next time. Whoever calls it has the turn.
func (t *tx) arrange() {
	lk, st := t.lk, t.lk.store
	var clients watch
	waits := false
	var end stamp
	for i, e := range t.state.queue {
		if e.client != st.id {
			continue
		}
		waits = true
		for _, what := range t.state.watchOf(i) {
			if !strings.HasPrefix(what, untilPrefix) && !slices.Contains(clients, what) {
				clients = append(clients, what)
			}
		}
		if i == 0 {
			end, _ = t.state.nextEnd()
		}
	}
	st.setAlarm(lk, end, t.at.now)
	st.setRefresh(lk, waits)
	if st.polls {
		if t.dirty {
			lk.calm()
		}
		if waits {
			lk.lookLater()
		} else {
			st.lookAtHolds()
		}
		return
	}
	if st.watch(lk, clients) {
		lk.calm()
	} else {
		lk.lookLater() // no descriptor is left, or a client has just closed
	}
}

// setAlarm wakes lk's waiters when a minimum hold is over; 0: none is to be waited for.
func (st *Store) setAlarm(lk *lock, end, now stamp) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if lk.alarm != nil && lk.alarmAt == end {
		return
	}
	if lk.alarm != nil {
		lk.alarm()
		lk.alarm = nil
	}
	if lk.alarmAt = end; end != 0 && !st.ended {
		lk.alarm = st.Clock().At(st.Clock().Now().Add(end.sub(now)), func() {
			st.mu.Lock()
			lk.alarmAt = 0
			st.mu.Unlock()
			st.poke(lk)
		})
	}
}

const (
	firstRefresh = time.Second
	lastRefresh  = time.Minute
)

// setRefresh makes sure that waiters are told how things stand from time to time. That is for people; but it also finds, in the
// end, whatever was removed by hand.
func (st *Store) setRefresh(lk *lock, waits bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	switch {
	case !waits && lk.refresh != nil:
		lk.refresh.Stop()
		lk.refresh = nil
	case waits && lk.refresh == nil && !st.ended:
		lk.pause = cmp.Or(st.config.refresh, firstRefresh)
		lk.refresh = time.AfterFunc(lk.pause, func() { st.refreshNow(lk) })
	}
}

func (st *Store) refreshNow(lk *lock) {
	st.mu.Lock()
	if lk.refresh != nil && !st.ended {
		lk.tick = true
		lk.pause = max(lk.pause, min(2*lk.pause, lastRefresh))
		lk.refresh = time.AfterFunc(lk.pause, func() { st.refreshNow(lk) })
	}
	st.mu.Unlock()
	st.poke(lk)
}

// watch makes clients those that lk watches, and no others. It reports false if one of them cannot be watched: it is then to be
// looked at again soon.
func (st *Store) watch(lk *lock, clients watch) bool {
	st.watchMu.Lock()
	defer st.watchMu.Unlock()
	for _, client := range lk.watching {
		if w := st.watches[client]; w != nil && !slices.Contains(clients, client) {
			if delete(w.locks, lk); len(w.locks) == 0 {
				delete(st.watches, client)
				w.end()
			}
		}
	}
	all := true
	for _, client := range clients {
		w := st.watches[client]
		if w == nil {
			if w = st.beginWatch(client); w == nil {
				all = false
				continue
			}
			st.watches[client] = w
		}
		w.locks[lk] = true
	}
	lk.watching = clients
	return all
}

// beginWatch watches a client; nil: it cannot be. Should it have died just now, that is noticed at once.
func (st *Store) beginWatch(client string) *watched {
	if st.isClosed() {
		return nil
	}
	pipe, err := st.openWatch(client)
	if err != nil {
		return nil
	}
	w := &watched{locks: make(map[*lock]bool), end: func() { pipe.Close() }}
	st.running.Go(func() {
		defer pipe.Close()
		var some [16]byte
		for {
			if n, err := pipe.Read(some[:]); n == 0 || err != nil {
				break
			}
		}
		st.watchMu.Lock()
		if st.watches[client] == w {
			delete(st.watches, client)
		}
		locks := w.locks
		w.locks = make(map[*lock]bool)
		st.watchMu.Unlock()
		for lk := range locks {
			st.poke(lk)
		}
	})
	return w
}

// listen reads the bell: others ring it when there is something to see in a lock's file.
func (st *Store) listen() {
	rings := make([]byte, 512*ringLen)
	for {
		n, err := st.presence.bell.Read(rings)
		if err != nil {
			return // closed
		}
		st.mu.Lock()
		var heard []*lock
		if n == len(rings) { // perhaps it was full, and others were not heard
			for _, lk := range st.locks {
				heard = append(heard, lk)
			}
		} else {
			for at := 0; at+ringLen <= n; at += ringLen {
				if lk := st.byRing[[ringLen]byte(rings[at:])]; lk != nil {
					heard = append(heard, lk)
				}
			}
		}
		st.mu.Unlock()
		for _, lk := range heard {
			st.poke(lk)
		}
	}
}
