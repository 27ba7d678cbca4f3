package filelock

import (
	"context"
	"time"

	"holdfast.dev/driver"
)

// A lock is what this client knows of one lock, or semaphore, that it uses or has used lately.
type lock struct {
	store   *Store
	key     string // the name of its file
	name    string
	permits bool
	sum     keySum

	turn chan struct{} // has one element: who takes it out works on the file, and puts it back

	glancing chan struct{} // takes one element: who looks at it on giving up (see conclude.go) takes it out again

	// These are whose turn it is.
	pending   *flockWait // of somebody who gave up
	cache     *state     // what the file said last, if that was number seq of the file that was born so
	born, seq uint64
	page      [firstLook]byte // room for what is read and
	text      []byte          // written
	claim     byte            // what is written in the client's claims, and where
	slot      int
	backoff   driver.Backoff // between looks, while polling or after an error
	patience  driver.Backoff // the same, while nobody waits

	// These are guarded by the store's mutex.
	attempts map[string]*attempt // by hash
	strays   bool                // there may be entries in the file of attempts that are no more, and have to be taken out
	users    int                 // calls under way
	resting  bool                // it is among the store's idle ones
	poked    bool                // somebody wants it to be looked at
	looking  bool                // a goroutine does
	tick     bool                // its waiters are to be told how things stand, whether that is new or not
	told     driver.Instant      // when that was last done
	holders  []driver.Holder     // as last seen
	seen     stamp               // when
	glimpse  glimpse             // what somebody who gave up has seen last
	watching watch
	alarm    func() bool // stops the alarm for the end of a minimum hold
	alarmAt  stamp
	later    *time.Timer // the next look, while polling or after an error
	refresh  *time.Timer // the next tick
	pause    time.Duration
}

const ringLen = 8

// lockOf returns the lock of that name, known or new. The mutex is held.
func (st *Store) lockOf(name string, mode driver.Mode) *lock {
	key := keyOf(name, mode)
	lk := st.locks[key]
	if lk == nil {
		lk = &lock{
			store: st, key: key, name: name, permits: mode == driver.Permits, sum: sumOf(key),
			turn: make(chan struct{}, 1), glancing: make(chan struct{}, 1), attempts: make(map[string]*attempt),
			backoff:  driver.Backoff{Min: time.Millisecond, Max: 50 * time.Millisecond},
			patience: driver.Backoff{Min: 10 * time.Millisecond, Max: 5 * time.Second},
		}
		lk.turn <- struct{}{}
		st.locks[key] = lk
		st.byRing[lk.ring()] = lk
	}
	return lk
}

// ring is how a bell names the lock.
func (lk *lock) ring() [ringLen]byte { return [ringLen]byte(lk.sum[1:]) }

// enter waits for the turn.
func (lk *lock) enter(ctx context.Context) error {
	select {
	case <-lk.turn:
	default:
		select {
		case <-lk.turn:
		case <-ctx.Done():
			return ctx.Err()
		case <-lk.store.done(ctx):
			return errClosed
		}
	}
	if lk.store.isClosed() && ctx != lk.store.closing {
		lk.exit()
		return errClosed
	}
	return nil
}

// done is closed when the store is; but what Close itself does goes on.
func (st *Store) done(ctx context.Context) <-chan struct{} {
	if st.isClosed() && ctx == st.closing {
		return nil
	}
	return st.closed
}

func (lk *lock) exit() { lk.turn <- struct{}{} }

// An attempt is one attempt of this client to get a lock. Its fields are guarded by the store's mutex.
type attempt struct {
	lock  *lock
	hash  string
	label string
	mode  driver.Mode
	n     int
	limit int
	keep  time.Duration
	ttl   time.Duration
	lost  func(error)

	phase    phase // 0: not in the file yet; ghost: it is no more, and err says why
	token    uint64
	err      error
	decided  chan struct{}  // closed when it holds or is no more
	asked    driver.Instant // when it was last known not to hold
	callers  []*call
	undone   bool // Release was called
	told     bool // lost was called
	returned bool // a grant was returned to a caller

	away    driver.Instant // when it ends, because its last caller left; Never: somebody is there
	unalarm func() bool
	place   int // in the queue, as last seen
}

// A call is one call of Acquire that waits.
type call struct {
	news chan struct{} // has one element when there is something to tell
}

// decide ends the wait of a's callers. The mutex is held.
func (a *attempt) decide(p phase, err error) {
	if a.phase == holding || a.phase == ghost { // they know
		a.phase, a.err = p, err
		return
	}
	a.phase, a.err = p, err
	close(a.decided)
}

// gone ends a. The mutex is held.
func (a *attempt) gone(err error) {
	if a.phase == ghost {
		return
	}
	a.decide(ghost, err)
	if a.lock.attempts[a.hash] == a {
		delete(a.lock.attempts, a.hash)
	}
	if a.unalarm != nil {
		a.unalarm()
	}
}

// progress is how things stand for a. The mutex is held.
func (a *attempt) progress() driver.Progress {
	return driver.Progress{Place: a.place, Holders: a.lock.holders}
}

// grant describes a's hold. The mutex is held.
func (a *attempt) grant(asked driver.Instant) *driver.Grant {
	a.returned = true
	return &driver.Grant{Token: a.token, Asked: max(asked, a.asked), TTL: a.ttl}
}
