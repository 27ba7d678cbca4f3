package control

import (
	"context"
	"errors"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/resource"
)

// TestGates: N9 and N10 have the right lock, and a wrong gate.
func TestGates(t *testing.T) {
	for name, want := range map[string]resource.Gate{"N9": resource.GateNone, "N10": resource.GateWrites} {
		if c, _ := Find(name); c.GateFor(true) != want || c.change != nil {
			t.Errorf("%s: the gate is %q, and its lock is changed: %v", name, c.GateFor(true), c.change != nil)
		}
	}
}

// TestN11: a server that comes back with nothing.
func TestN11(t *testing.T) {
	both(t, "N11", func(b *bench, broken bool) {
		s := b.open(Options{Broken: broken})
		ask := func() *driver.Request {
			r := b.ask()
			r.TTL = b.control.TTL
			return r
		}
		guarded := ask()
		guarded.NoWait = true
		if _, err := s.Acquire(b.ctx(), guarded); !errors.As(err, new(*driver.Guarded)) {
			b.Errorf("the first question to a new server: %v; it cannot know what was before", err)
		}
		before := b.grant(s, ask()) // not released
		b.server.Kill()
		if err := b.server.Restart(b.ctx()); err != nil {
			b.Fatal(err)
		}
		var after *driver.Grant
		r := ask()
		b.until("a grant after the restart", func() bool { // the first questions may find the old connection
			g, err := s.Acquire(b.ctx(), r)
			after = g
			return err == nil
		})
		if after.Asked.Before(before.Asked.Add(before.TTL)) {
			b.Error("the lock was granted while the hold from before was valid")
		}
		if risen := after.Token > before.Token; risen == broken {
			b.Errorf("the tokens before and after are %d and %d", before.Token, after.Token)
		}
		b.release(s, r)
		if last := b.grant(s, ask()); last.Token <= after.Token {
			b.Errorf("without a restart the token went from %d to %d", after.Token, last.Token)
		}
	})
}

// TestN14: a lock becomes free, and nobody says so. What the twin does shows when the broken one had time enough.
func TestN14(t *testing.T) {
	b := newBench(t, "N14")
	broken, twin := b.open(Options{Broken: true}), b.open(Options{})
	granted := func(s driver.Store, name string) (done chan *driver.Request) {
		holder := b.ask()
		holder.Name = name
		b.grant(b.open(Options{}), holder)
		waits := make(chan struct{})
		r := b.ask()
		r.Name, r.Waiting = name, func(driver.Progress) { close(waits) }
		done = make(chan *driver.Request)
		ctx, cancel := context.WithCancel(b.ctx())
		b.Cleanup(cancel)
		go func() {
			if _, err := s.Acquire(ctx, r); err == nil {
				done <- r
			}
		}()
		<-waits
		return done
	}
	stuck, served := granted(broken, "stuck"), granted(twin, "served")
	b.do("DEL", "control:lock:stuck", "control:lock:served") // as if both holders had died, and their time had run out
	select {
	case <-served:
	case <-time.After(patience):
		t.Fatal("the twin does not look by itself")
	}
	b.pass(10*40*time.Millisecond, func() { // as long as ten of the longest pauses of the twin
		select {
		case <-stuck:
			t.Fatal("the broken one looks by itself")
		default:
		}
	})
	b.until("the broken one hears", func() bool {
		b.do("PUBLISH", freeChannel, "stuck") // again, until its subscription is there
		select {
		case <-stuck:
			return true
		default:
			return false
		}
	})
}

// TestN15: a request that is sent twice, and one release.
func TestN15(t *testing.T) {
	both(t, "N15", func(b *bench, broken bool) {
		s, other := b.open(Options{Broken: broken}), b.open(Options{Broken: broken})
		r := b.ask()
		r.TTL = 150 * time.Millisecond
		first := b.grant(s, r)
		if again := b.grant(s, r); again.Token != first.Token {
			b.Errorf("one attempt has tokens %d and %d", first.Token, again.Token)
		}
		b.release(s, r)
		if free := b.isFree(other); free == broken {
			b.Fatalf("after the release it is free: %v", free)
		}
		if !broken {
			return
		}
		b.pass(3*r.TTL, func() {})
		if b.isFree(other) {
			b.Error("what the client still has, as far as it knows, was not kept alive")
		}
		s.Close()
		b.until("the end of what a client has had that is gone", func() bool { return b.isFree(other) })
	})
}

// TestN16: the clock of the broken one does not count the time in which its process stood still, and that of the twin does.
func TestN16(t *testing.T) {
	both(t, "N16", func(b *bench, broken bool) {
		_, isStill := b.open(Options{Broken: broken}).Clock().(*still)
		if isStill != broken {
			b.Errorf("its clock stands still in suspend: %v", isStill)
		}
	})
}

func TestStill(t *testing.T) {
	real := driver.Instant(1000)
	c := newStill(func() driver.Instant { return real })
	c.begin = func() {} // no ticks: the test rings
	begun := c.Now()
	passed := func(d, want time.Duration) {
		t.Helper()
		before := c.Now()
		real = real.Add(d)
		if got := c.Now().Sub(before); got != want {
			t.Errorf("of %v it counted %v; it should be %v", d, got, want)
		}
	}
	passed(longest, longest)
	passed(time.Hour, longest)
	passed(3*time.Millisecond, 3*time.Millisecond)

	var rang []string
	at := func(name string, d time.Duration) func() bool {
		return c.At(begun.Add(d), func() { rang = append(rang, name) })
	}
	at("first", 100*time.Millisecond)
	stop := at("stopped", 100*time.Millisecond)
	never := c.At(driver.Never, func() { t.Error("never has come") })
	if !stop() || stop() || !never() || never() {
		t.Error("stop: it kept f from being called the first time, and only then")
	}
	real = real.Add(time.Hour) // suspended
	if c.ring(); len(rang) != 0 {
		t.Errorf("on waking it rang %v, by the time that it did not count", rang)
	}
	for range 10 {
		real = real.Add(tick * 2)
		c.ring()
	}
	if len(rang) != 1 || rang[0] != "first" {
		t.Errorf("it rang %v", rang)
	}
}
