package generate

import (
	"slices"

	"holdfast.dev/driver"
)

// A lock as the service keeps it.
type lock struct {
	*sim
	name   string
	leader bool
	index  uint16

	holder  *attempt
	queue   []*attempt
	token   uint64         // of the last grant
	planned driver.Instant // when the holder's end will be looked at; 0: not at all

	unfenced, fenced register
}

// An attempt as the service knows it. Its mark stays after it was undone.
type attempt struct {
	number  uint64
	of      *process
	tell    func(answer) // brings an answer to the worker; runs in its process
	nowait  bool
	asked   driver.Instant // when the last request of it that has arrived was sent
	until   driver.Instant // its place, or its hold, is kept until then
	token   uint64
	granted bool
	undone  bool
}

// An answer is what the service says about an attempt.
type answer struct {
	attempt *attempt
	kind    kind
	asked   driver.Instant // of the request that it is valid from
	token   uint64
}

type kind int

const (
	isGranted kind = iota + 1
	isQueued
	isHeld
	isGone
	isDone    // Release: it was let go
	isRenewed // Renew
	isGuarded // nobody is granted anything for now
	isApplied // of a register: it was read or written
	isStale   // of a register: the fence refused
)

// reply sends an answer about an attempt.
func (l *lock) reply(a *attempt, k kind) {
	m := answer{a, k, a.asked, a.token}
	a.of.answer(func() { a.tell(m) })
}

// acquire handles a request for the lock, or one for a place that is to be kept.
func (l *lock) acquire(a *attempt, asked driver.Instant) {
	if a.granted && l.holder != a && !a.undone { // it was granted, has run out, and nobody had heard of it
		if l.once(2) {
			l.reply(a, isGone)
			return
		}
		a.granted = false // to this store it is a new one
	}
	switch {
	case a.undone:
		if !a.granted && l.open() && !l.o.NoExpiry && l.once(2) { // as in a store that keeps no mark: it holds for the TTL, and nobody knows
			a.asked = asked
			a.until = l.kept()
			l.grant(a)
		}
	case l.holder == a:
		a.asked, a.until = asked, l.kept()
		l.reply(a, isGranted)
	case slices.Contains(l.queue, a):
		a.asked, a.until = asked, l.kept()
		l.reply(a, isQueued)
	case l.open() && len(l.queue) == 0:
		a.asked, a.until = asked, l.kept()
		l.grant(a)
	case a.nowait && l.holder == nil:
		l.reply(a, isGuarded)
	case a.nowait:
		l.reply(a, isHeld)
	default:
		a.asked, a.until = asked, l.kept()
		l.queue = append(l.queue, a)
		l.reply(a, isQueued)
	}
}

// open reports whether the lock can be granted.
func (l *lock) open() bool { return l.holder == nil && l.now >= l.guard }

// kept is until when a hold or a place is kept that was asked for just now.
func (l *lock) kept() driver.Instant {
	if l.o.NoExpiry {
		return driver.Never
	}
	return l.now.Add(l.o.TTL)
}

func (l *lock) grant(a *attempt) {
	l.token++
	if l.once(8) { // some stores leave tokens out
		l.token += uint64(l.random.IntN(5))
	}
	l.holder, a.granted = a, true
	if !l.o.Unfenced {
		a.token = l.token
	}
	l.expire()
	l.reply(a, isGranted)
}

// expire ends the hold when its time has come. A renewal needs no event of its own: it is seen when the old time has come.
func (l *lock) expire() {
	if l.holder == nil || l.holder.until == driver.Never {
		return
	}
	if l.planned != 0 && l.planned <= l.holder.until {
		return
	}
	l.planned = l.holder.until
	l.at(l.planned, func() {
		if l.planned != l.now {
			return // it was for one who has gone before
		}
		l.planned = 0
		if l.holder != nil && l.holder.until <= l.now {
			l.free()
		}
		l.expire()
	})
}

// free lets go, and hands over.
func (l *lock) free() {
	l.holder = nil
	l.serve()
}

// serve grants the lock to the first who is still there, if it can be granted.
func (l *lock) serve() {
	for l.open() && len(l.queue) > 0 {
		a := l.queue[0]
		l.queue = l.queue[1:]
		if a.until > l.now {
			l.grant(a)
		}
	}
}

// release makes sure that an attempt neither waits nor holds.
func (l *lock) release(a *attempt, done func(answer)) {
	a.undone = true
	k := isGone
	switch i := slices.Index(l.queue, a); {
	case l.holder == a:
		k = isDone
		l.free()
	case i >= 0:
		l.queue = slices.Delete(l.queue, i, i+1)
		k = isDone
	}
	a.of.answer(func() { done(answer{a, k, 0, a.token}) })
}

// renew keeps a hold for another TTL.
func (l *lock) renew(a *attempt, asked driver.Instant, done func(answer)) {
	k := isGone
	if l.holder == a {
		a.asked, a.until = asked, l.kept()
		k = isRenewed
	}
	a.of.answer(func() { done(answer{a, k, asked, a.token}) })
}

// leave is the end of a process, where holds and places end with it.
func (l *lock) leave(p *process) {
	l.queue = slices.DeleteFunc(l.queue, func(a *attempt) bool { return a.of == p })
	if l.holder != nil && l.holder.of == p {
		l.free()
	}
}

// forget is what no service should do: it knows nothing of its holder and its queue any more.
func (l *lock) forget() {
	l.holder, l.queue = nil, nil
}
