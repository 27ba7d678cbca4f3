package filelock

import (
	"context"
	"time"
)

const (
	maxIdle  = 128         // names that this client does not use, whose files are left for the next time
	tidyWait = time.Second // for somebody else's guard

	tidyPause    = time.Second // after a round in which files could not be removed; twice as long after the next
	maxTidyPause = time.Minute
)

// rest notes that a lock may not be in use any more. The mutex is held.
func (st *Store) rest(lk *lock) {
	if lk.users > 0 || len(lk.attempts) > 0 || lk.resting || st.ended {
		return
	}
	lk.resting = true
	st.idle = append(st.idle, lk)
	st.tidySoon()
}

// tidySoon begins to tidy, if there is something to tidy and nobody does. The mutex is held.
func (st *Store) tidySoon() {
	if len(st.idle) > maxIdle && !st.tidying && !st.ended {
		st.tidying = true
		st.running.Add(1)
		go st.tidy()
	}
}

// tidy removes the files of locks that were not used for the longest time. It tries each once: if some cannot be removed (the
// directory was moved, or somebody has their guards) it pauses, and the more the longer that lasts.
func (st *Store) tidy() {
	defer st.running.Done()
	st.mu.Lock()
	tries := len(st.idle)
	st.mu.Unlock()
	failed := false
	for ; ; tries-- {
		st.mu.Lock()
		if len(st.idle) <= maxIdle || st.ended || tries == 0 {
			st.tidied(failed)
			st.mu.Unlock()
			return
		}
		lk := st.idle[0]
		st.idle = st.idle[1:]
		lk.resting = false
		used := lk.users > 0 || len(lk.attempts) > 0
		if !used {
			lk.users++
		}
		st.mu.Unlock()
		if used {
			continue // it will rest again
		}
		ctx, cancel := context.WithTimeout(context.Background(), tidyWait)
		err := lk.removeIfEmpty(ctx)
		cancel()
		st.mu.Lock()
		if lk.users--; lk.users == 0 && len(lk.attempts) == 0 {
			if err == nil || err == errNoFile {
				lk.stopTimers()
				delete(st.locks, lk.key)
				delete(st.byRing, lk.ring())
			} else {
				failed = true
				st.rest(lk)
			}
		}
		st.mu.Unlock()
	}
}

// tidied ends a round. The mutex is held.
func (st *Store) tidied(failed bool) {
	if !failed || st.ended {
		st.tidying, st.untidy = false, 0
		st.tidySoon()
		return
	}
	st.untidy = min(max(2*st.untidy, tidyPause), maxTidyPause)
	st.tidyLater = time.AfterFunc(st.untidy, func() {
		st.mu.Lock()
		defer st.mu.Unlock()
		st.tidying = false
		st.tidySoon()
	})
}

// removeIfEmpty removes the lock's file if nobody has an entry in it. Only under the guard: whoever waits for that finds another
// file behind the path, or none, and begins anew.
func (lk *lock) removeIfEmpty(ctx context.Context) error {
	return lk.change(ctx, tidying, (*tx).unlinkIfEmpty)
}

// unlinkIfEmpty has the file removed unless somebody has an entry in it. Ghosts of the dead are none.
func (t *tx) unlinkIfEmpty() error {
	t.unlink = true
	if len(t.state.queue)+len(t.state.holders) > 0 || len(t.state.ghosts) == 0 {
		return nil
	}
	_, err := t.buryDead()
	return err
}

// Close ends this client. Its waiting calls end with driver.ErrClosed. What it still holds is free for the others at once, or when
// its minimum hold is over. It removes what it has made in the directory, as far as nobody else uses it; should another process
// keep it from that for longer than a second, the next Open does it.
func (st *Store) Close() error {
	st.mu.Lock()
	if st.ended {
		st.mu.Unlock()
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), tidyWait)
	defer cancel()
	st.closing = ctx
	st.ended = true
	close(st.closed)
	locks := make([]*lock, 0, len(st.locks))
	for _, lk := range st.locks {
		locks = append(locks, lk)
		lk.stopTimers()
	}
	for _, timer := range []*time.Timer{st.rounds, st.tidyLater} {
		if timer != nil {
			timer.Stop()
		}
	}
	st.mu.Unlock()

	clean, quiet := true, true
	for _, lk := range locks {
		err := lk.withdraw(ctx)
		if lk.enter(ctx) != nil { // and keeps the turn: nobody works on its file any more
			clean, quiet = false, false
		} else if err != nil && err != errNoFile && lk.claim != claimNone {
			clean = false // something of ours may be in there
		}
	}
	st.stopWatching()
	st.presence.end()
	if quiet {
		st.running.Wait()
	}
	if clean {
		st.dir.disappear(st.id) // else the next Open does it
	}
	if quiet {
		st.dir.close()
	}
	return nil
}

// withdraw takes everything of this client out of a lock's file, serves the others, and removes the file if it is empty.
func (lk *lock) withdraw(ctx context.Context) error {
	return lk.change(ctx, tidying, func(t *tx) error {
		st := lk.store
		t.dirty = t.state.bury(st.id, t.at.now)
		st.mu.Lock()
		for _, a := range lk.attempts {
			a.told = true // nothing is reported through a closed client
		}
		st.mu.Unlock()
		return t.unlinkIfEmpty()
	})
}

// stopTimers ends whatever would wake this lock. The mutex is held.
func (lk *lock) stopTimers() {
	if lk.alarm != nil {
		lk.alarm()
	}
	for _, timer := range []*time.Timer{lk.later, lk.refresh} {
		if timer != nil {
			timer.Stop()
		}
	}
	for _, a := range lk.attempts {
		if a.unalarm != nil {
			a.unalarm()
		}
	}
}

// stopWatching lets go of all watched clients.
func (st *Store) stopWatching() {
	st.watchMu.Lock()
	defer st.watchMu.Unlock()
	for _, w := range st.watches {
		w.end()
	}
	clear(st.watches)
}
