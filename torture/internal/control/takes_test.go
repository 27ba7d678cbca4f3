package control

import (
	"errors"
	"testing"
	"time"

	"holdfast.dev/driver"
)

// TestN1: somebody who does not hold releases.
func TestN1(t *testing.T) {
	both(t, "N1", func(b *bench, broken bool) {
		s, other := b.open(Options{Broken: broken}), b.open(Options{Broken: broken})
		b.grant(s, b.ask())
		if err := other.Release(b.ctx(), b.ask()); broken != (err == nil) || !broken && !errors.Is(err, driver.ErrGone) {
			b.Errorf("Release of an attempt that does not hold: %v", err)
		}
		if free := b.isFree(other); free != broken {
			b.Errorf("another's release: the holder's lock is free: %v", free)
		}
	})
}

// TestN2: what a process leaves that dies as soon as it has the lock.
func TestN2(t *testing.T) {
	both(t, "N2", func(b *bench, broken bool) {
		var ttl any
		s := b.open(Options{Broken: broken, Reached: func(Point) { ttl = b.do("PTTL", "control:lock:lock") }})
		b.grant(s, b.ask())
		if forever := ttl == int64(-1); forever != broken {
			b.Errorf("at that moment the TTL is %v", ttl)
		}
		if now := b.do("PTTL", "control:lock:lock").(int64); now <= 0 {
			b.Errorf("once granted, its TTL is %d", now)
		}
	})
}

// TestN3: a machine whose clock is ahead asks for what another holds.
func TestN3(t *testing.T) {
	both(t, "N3", func(b *bench, broken bool) {
		right, alsoRight := b.open(Options{Broken: broken, Process: 0}), b.open(Options{Broken: broken, Process: 4})
		ahead := b.open(Options{Broken: broken, Process: 3})
		r := b.ask()
		r.TTL = 2500 * time.Millisecond // less than the clock is ahead
		g := b.grant(right, r)
		if b.isFree(alsoRight) && driver.Boot().Now().Before(g.Asked.Add(r.TTL)) {
			b.Error("who has the same clock got the lock")
		}
		if free := b.isFree(ahead); free != broken && driver.Boot().Now().Before(g.Asked.Add(r.TTL)) {
			b.Errorf("who is ahead: it is free: %v", free)
		}
	})
}

// TestRecipe: the steps of N3, as the articles have them.
func TestRecipe(t *testing.T) {
	b := newBench(t, "N3")
	s := b.open(Options{Broken: true})
	const key = "control:lock:lock"
	at := func(d time.Duration) string { return itoa(time.Now().Add(d).UnixMilli()) }

	b.do("SET", key, at(time.Hour))
	if b.isFree(s) {
		t.Error("a lock that has not timed out was taken")
	}
	b.do("SET", key, at(-time.Hour))
	timedOut := b.ask()
	b.grant(s, timedOut) // 2, 3, 4
	if b.isFree(s) {
		t.Error("GETSET has not moved the end")
	}
	b.release(s, timedOut)
	if got := b.do("EXISTS", key); got != int64(0) {
		t.Error("5: a release within the timeout has not deleted the lock")
	}
	late := b.ask()
	late.TTL = 100 * time.Millisecond
	b.grant(s, late)
	b.pass(late.TTL, func() {})
	if err := s.Release(b.ctx(), late); !errors.Is(err, driver.ErrGone) {
		t.Errorf("5: a release after the timeout: %v", err)
	}
	if got := b.do("EXISTS", key); got != int64(1) {
		t.Error("5: a release after the timeout has deleted the lock, which may be another's")
	}
	if _, err := (&recipe{store: s.(*store)}).renew(b.ctx(), late, late.TTL); driver.Answered(err) {
		t.Errorf("a renewal: %v, which the core would take for an answer", err)
	}
}

// TestN4: a renewal that arrives when the lock is another's, and the release behind it.
func TestN4(t *testing.T) {
	both(t, "N4", func(b *bench, broken bool) {
		s, other := b.open(Options{Broken: broken}), b.open(Options{Broken: broken})
		old := b.ask()
		g := b.grant(s, old)
		b.do("DEL", "control:lock:lock") // as if its time had run out
		b.grant(other, b.ask())
		if _, err := g.Lease.Renew(b.ctx(), old.TTL); broken != (err == nil) || !broken && !errors.Is(err, driver.ErrGone) {
			b.Errorf("Renew of what is another's: %v", err)
		}
		if err := s.Release(b.ctx(), old); err != nil && !errors.Is(err, driver.ErrGone) {
			b.Error(err)
		}
		if free := b.isFree(s); free != broken {
			b.Errorf("then the other's lock is free: %v", free)
		}
	})
}

// TestN4Alone: without another the broken renewal does what a renewal does.
func TestN4Alone(t *testing.T) {
	both(t, "N4", func(b *bench, broken bool) {
		r := b.ask()
		g := b.grant(b.open(Options{Broken: broken}), r)
		for _, ttl := range []time.Duration{0, time.Second, 2 * time.Minute} {
			left, err := g.Lease.Renew(b.ctx(), ttl)
			if least := max(ttl, r.TTL) - patience; err != nil || left < least || left > max(ttl, r.TTL) {
				b.Errorf("Renew(%v): %v, %v", ttl, left, err)
			}
		}
	})
}
