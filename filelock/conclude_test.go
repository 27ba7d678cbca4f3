package filelock

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"holdfast.dev/driver"
)

func labelled(label string) func(*driver.Request) {
	return func(r *driver.Request) { r.Label = label }
}

// cutOff ends a wait, and returns who it was told is in the way.
func (p *pending) cutOff() []driver.Holder {
	p.t.Helper()
	p.stop()
	err := p.failed()
	held, ok := errors.AsType[*driver.Held](err)
	if !ok || !errors.Is(err, context.Canceled) || driver.Answered(err) {
		p.t.Fatalf("a wait that was cut off: %v; want *driver.Held and context.Canceled", err)
	}
	return held.Holders
}

func isHeldBy(t *testing.T, holders []driver.Holder, label string, token uint64) {
	t.Helper()
	if len(holders) != 1 || holders[0].Label != label || holders[0].Token != token {
		t.Errorf("told of %+v, want %q with token %d", holders, label, token)
	}
}

// A wait that is cut off names whoever has the lock then, though nobody has told it of the hand-over.
func TestCutOffNamesTheHolder(t *testing.T) {
	for name, c := range map[string]config{"woken": {boot: systemBoot()}, "polling": {boot: systemBoot(), poll: true}} {
		t.Run(name, func(t *testing.T) {
			dir := newDir(t)
			a, b, d := opened(t, dir, c), opened(t, dir, c), opened(t, dir, c)
			first := ask("x", driver.Exclusive, labelled("first"))
			take(t, a, first)
			second := queue(t, b, ask("x", driver.Exclusive, labelled("second")))
			third := queue(t, d, ask("x", driver.Exclusive, labelled("third")))
			free(t, a, first)
			token := second.granted().Token
			isHeldBy(t, third.cutOff(), "second", token)
		})
	}
}

// While another process keeps the guard, a wait that is cut off tells what was seen last, as old as that is now, and soon.
func TestCutOffWhileTheGuardIsBusy(t *testing.T) {
	both(t, func(t *testing.T, c config) {
		dir := newDir(t)
		a, b := opened(t, dir, c), opened(t, dir, c)
		grant := take(t, a, ask("x", driver.Exclusive, labelled("first")))
		held := time.Now()
		waiter := queue(t, b, ask("x", driver.Exclusive))
		guard, err := openNoFollow(a.dir.lockPath(keyOf("x", driver.Exclusive)), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer guard.Close()
		if _, err := flock(guard, true, true); err != nil {
			t.Fatal(err)
		}
		until(t, "the hold is old", func() bool { return time.Since(held) > 50*time.Millisecond })
		age := time.Since(held)
		holders := waiter.cutOff()
		isHeldBy(t, holders, "first", grant.Token)
		if len(holders) == 1 && holders[0].Held < age {
			t.Errorf("held for %v, want %v at least: what was seen last has not aged", holders[0].Held, age)
		}
	})
}

// Whoever gives up is not told of holders that are dead, though nobody has noticed yet, nor of itself.
func TestGlance(t *testing.T) {
	dir := newDir(t)
	a, b, d := opened(t, dir), opened(t, dir), opened(t, dir)
	mine := ask("x", driver.Shared, labelled("mine"))
	take(t, a, mine)
	take(t, b, ask("x", driver.Shared, labelled("dead")))
	grant := take(t, d, ask("x", driver.Shared, labelled("other")))
	kill(b)

	lk := &lock{store: a, key: keyOf("x", driver.Shared), glancing: make(chan struct{}, 1)}
	seen, ok := lk.glance(time.Now().Add(soon))
	if !ok || len(seen.holders) != 2 {
		t.Fatalf("seen are %d, %v; want the two that live", len(seen.holders), ok)
	}
	decided := make(chan struct{})
	close(decided)
	own := &attempt{lock: lk, hash: attemptHash(mine.Attempt), decided: decided}
	isHeldBy(t, seen.besides(own, time.Now().Add(soon)), "other", grant.Token)

	// What was just seen will do for the next; later it looks again.
	lk.glimpse = glimpse{at: a.now().now.add(time.Hour)}
	if seen, ok := lk.glance(time.Now().Add(soon)); !ok || len(seen.holders) > 0 {
		t.Errorf("seen are %d, %v; want what another one has just seen", len(seen.holders), ok)
	}
	lk.glimpse = glimpse{at: a.now().now.add(-stillFresh)}
	if seen, ok := lk.glance(time.Now().Add(soon)); !ok || len(seen.holders) != 2 {
		t.Errorf("seen are %d, %v; want the two that live", len(seen.holders), ok)
	}
}

// What was known once has aged; minimum holds that are over by now are not told.
func TestAged(t *testing.T) {
	known := []driver.Holder{
		{Label: "over", Held: time.Second, Left: time.Second, Kept: true},
		{Label: "kept", Held: time.Second, Left: time.Minute, Kept: true},
		{Label: "held", Held: time.Minute, Left: driver.Forever},
	}
	got := aged(known, time.Second)
	want := []driver.Holder{
		{Label: "kept", Held: 2 * time.Second, Left: 59 * time.Second, Kept: true},
		{Label: "held", Held: 61 * time.Second, Left: driver.Forever},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
