package driver

import (
	"math"
	"sync"
	"time"
)

// A ringer is a Clock made of a reading and an alarm: it keeps all deadlines on one agenda, and one goroutine waits for the earliest.
//
// The goroutine and its alarm exist from the first deadline until a short time (linger) after the last. What it does, forever:
//
//  1. Ring what is due, one by one, without the mutex: callbacks may call At and stop.
//  2. With the mutex, set the alarm to the earliest deadline, or to the end of the linger; if that is over, end.
//  3. Wait for the alarm without the mutex.
//
// Races, by name:
//
//   - earlier deadline: At comes during 3 with a deadline before the one that the alarm is set to. It sets the alarm itself.
//   - empty agenda: stop takes the last deadline during 3, and the alarm is set far ahead. It sets the alarm to the linger.
//   - late At: At comes when the goroutine has decided to end. Both happen under the mutex: either it does not end, or At finds no
//     alarm and starts anew.
//   - late stop: stop comes when its callback has been taken off the agenda. It reports false: the callback runs, or has run.
type ringer struct {
	now  func() Instant
	open func() alarm

	mu        sync.Mutex
	agenda    Agenda[func()]
	alarm     alarm   // nil: there is no goroutine
	armed     Instant // what the alarm is, or was last, set to
	lingering bool    // armed is no later than the end of the linger
	used      bool    // At was called since the linger began
}

// An alarm wakes one goroutine. set and close are called under the ringer's mutex, also while another goroutine waits.
type alarm interface {
	set(t Instant) // wait is to return at t or as soon as possible after it; earlier is allowed
	wait() bool    // false: this alarm does not work any more
	close()
}

func (r *ringer) Now() Instant { return r.now() }

func (r *ringer) At(t Instant, f func()) (stop func() bool) {
	if t == Never {
		return neverRings()
	}
	d := &deadline{ringer: r, entry: Entry[func()]{What: f}}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.agenda.Set(&d.entry, t)
	r.used = true
	if r.alarm == nil {
		r.alarm = r.open()
		r.armed, r.lingering = math.MinInt64, true // the goroutine will set it: nobody else need
		go r.run()
	} else if t < r.armed {
		r.arm(t)
	}
	return d.stop
}

func (r *ringer) arm(t Instant) {
	r.armed = t
	r.alarm.set(t)
}

// A deadline is one call of At.
type deadline struct {
	ringer *ringer
	entry  Entry[func()]
}

// stop takes d off the agenda, and reports whether it was still there.
func (d *deadline) stop() bool {
	r := d.ringer
	r.mu.Lock()
	defer r.mu.Unlock()
	if !d.entry.IsSet() {
		return false
	}
	r.agenda.Clear(&d.entry)
	d.entry.What = nil // whoever keeps stop does not keep what the callback refers to
	if r.agenda.Len() == 0 && !r.lingering {
		r.used, r.lingering = false, true
		r.arm(r.now().Add(linger))
	}
	return true
}

// run is the goroutine. A callback that ends it (runtime.Goexit, as the FailNow of a test does) must not silence the clock for
// everybody else: another one goes on.
func (r *ringer) run() {
	done := false
	defer func() {
		if !done {
			go r.run()
		}
	}()
	for {
		alarm := r.ringDue()
		if alarm == nil {
			done = true
			return
		}
		if !alarm.wait() {
			r.replace()
		}
	}
}

// ringDue rings what is due and sets the alarm. It returns nil if there is nothing left to wait for: the alarm is closed then.
func (r *ringer) ringDue() alarm {
	r.mu.Lock()
	for d := r.agenda.Due(r.now()); d != nil; d = r.agenda.Due(r.now()) {
		r.mu.Unlock() // not deferred: a callback may end this goroutine
		d.What()
		r.mu.Lock()
	}
	defer r.mu.Unlock()
	switch {
	case r.agenda.Len() > 0:
		r.lingering = false
		r.arm(r.agenda.Next())
	case r.used:
		r.used, r.lingering = false, true
		r.arm(r.now().Add(linger))
	default:
		r.alarm.close()
		r.alarm, r.agenda = nil, Agenda[func()]{} // the agenda too: it may have been long
	}
	return r.alarm
}

// replace puts a ticker, which always works, in the place of an alarm that does not.
func (r *ringer) replace() {
	r.mu.Lock()
	r.alarm.close()
	r.alarm = newTicker(r.now)
	r.mu.Unlock()
}

// A ticker is the alarm for systems that have no better one: a timer of package time, which stands still in a suspend, and
// therefore rings once a second at least.
type ticker struct {
	now   func() Instant
	timer *time.Timer
}

func newTicker(now func() Instant) *ticker {
	return &ticker{now: now, timer: time.NewTimer(recheck)}
}

func (t *ticker) set(at Instant) { t.timer.Reset(min(at.Sub(t.now()), recheck)) }

func (t *ticker) wait() bool {
	<-t.timer.C
	return true
}

func (t *ticker) close() { t.timer.Stop() }
