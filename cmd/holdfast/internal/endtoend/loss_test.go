//go:build linux

package endtoend_test

import (
	"fmt"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/locktest/remote"
)

// when is the first time that a run's actors wrote this.
func (w *world) when(run, event string) time.Duration {
	w.t.Helper()
	for _, e := range w.entries() {
		if e.run == run && e.event == event {
			return e.at
		}
	}
	w.t.Fatalf("the actors of %s did not write %q", run, event)
	return 0
}

// last is when a run's actors wrote last.
func (w *world) last(run string) time.Duration {
	w.t.Helper()
	var at time.Duration
	for _, e := range w.entries() {
		if e.run == run {
			at = max(at, e.at)
		}
	}
	return at
}

// tokenOf is the token of the one who holds a lock.
func (w *world) tokenOf(c *holdfast.Client, name string) uint64 {
	w.t.Helper()
	info, err := c.Inspect(w.t.Context(), name)
	if err != nil || len(info.Holders) != 1 {
		w.t.Fatalf("%v; want one holder of %s: %+v", err, name, info)
	}
	return info.Holders[0].Token
}

// A hold that is broken: TERM for the whole group, KILL after the grace for whoever does not heed it, and 75.
func TestBreak(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		const grace = time.Second
		client := w.client()
		for i, now := range []bool{false, true} {
			run := fmt.Sprint("run", i)
			r := w.start("holdfast", "run", "--grace", "1s", "x", "--", "actor", "-survive", "-beat", "-children", "1", w.journal, run)
			w.cast(run, 2)
			var how []holdfast.BreakOption
			if now {
				how = append(how, holdfast.Now())
			}
			begin := bootTime()
			if err := client.Break(t.Context(), "x", w.tokenOf(client, "x"), how...); err != nil {
				t.Fatal(err)
			}
			r.ends(75)
			if got := w.saw(run, "got TERM"); got != 2 {
				t.Errorf("%d TERM for two processes", got)
			}
			if lived := w.last(run) - begin; lived < grace/2 {
				t.Errorf("they lived for %v after it was broken; the grace is %v", lived, grace)
			}
			w.isFree("x")
		}
	})
}

// holdfast break does it too. A command that heeds TERM has the grace to itself; its code does not hide the loss.
func TestBreakCommand(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		client := w.client()
		r := w.start("holdfast", "run", "x", "--", "sh", "-c", "trap 'exit 3' TERM; actor -deaf -until end $J a & wait; wait")
		w.cast("a", 1)
		w.holdfast(0, "break", "x", "--token", fmt.Sprint(w.tokenOf(client, "x")))
		if got := r.ends(75); got.errors == "" {
			t.Error("it says nothing of the loss")
		}
		w.isFree("x")
	})
}

// --max-hold ends the command in time: TERM the grace before, KILL for whoever stays.
func TestMaxHold(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, w *world) {
		const maxHold, grace = 4 * time.Second, 2 * time.Second
		r := w.start("holdfast", "run", "--max-hold", "4s", "--grace", "2s", "x", "--", "actor", "-survive", "-beat", "-children", "1", w.journal, "a")
		next := w.start("holdfast", "run", "-w", "20", "x", "--", "actor", "-leave", w.journal, "next")
		r.ends(75)
		next.ends(0)
		began, told, last := w.when("a", "start"), w.when("a", "got TERM"), w.last("a")
		if told < began+(maxHold-grace)/2 {
			t.Errorf("TERM came %v after the start; want about %v", told-began, maxHold-grace)
		}
		if last < began+maxHold/2 {
			t.Errorf("the last sign of life came %v after the start; want it half a second before %v", last-began, maxHold)
		}
		if last > began+maxHold+time.Second {
			t.Errorf("the last sign of life came %v after the start; want it within %v", last-began, maxHold)
		}
		w.apart()
	})
}

// The store is gone for the program, and not for the others: TERM the grace before the hold runs out, and the group is dead before
// another one, which still sees the store, begins.
func TestPartition(t *testing.T) {
	t.Parallel()
	const ttl = 4 * time.Second
	faults := map[string]func(*netfault.Proxy){
		"silent":  func(p *netfault.Proxy) { p.Blackhole(netfault.Both); p.Refuse() },
		"refused": func(p *netfault.Proxy) { p.Refuse(); p.Cut() },
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newServedWorld(t)
			r := w.start("holdfast", "run", "--ttl", "4s", "--grace", "2s", "x", "--",
				"actor", "-survive", "-beat", "-children", "1", w.journal, "a")
			w.cast("a", 2)
			next := w.start("holdfast", "run", "--store", remote.Scheme+"://"+w.server.Addr().String(), "x", "--",
				"actor", "-leave", w.journal, "next")
			begin := bootTime()
			fault(w.proxy)
			r.ends(75)
			next.ends(0)
			if told := w.when("a", "got TERM"); told < begin+ttl/16 {
				t.Errorf("TERM came %v after the store had gone: too early, for a TTL of %v", told-begin, ttl)
			}
			w.apart()
		})
	}
}

// The server ends for good: 75 all the same.
func TestServerEnds(t *testing.T) {
	t.Parallel()
	w := newServedWorld(t)
	r := w.start("holdfast", "run", "--ttl", "4s", "x", "--", "actor", w.journal, "a")
	w.cast("a", 1)
	w.server.Close()
	r.ends(75)
	if got := w.saw("a", "got TERM"); got != 1 {
		t.Errorf("%d TERM, want 1", got)
	}
}

// A fault that is over before the hold ends is no loss.
func TestShortFault(t *testing.T) {
	t.Parallel()
	w := newServedWorld(t)
	r := w.start("holdfast", "run", "--ttl", "5s", "--grace", "0.5s", "x", "--", "actor", "-beat", "-until", w.path("end"), w.journal, "a")
	w.cast("a", 1)
	begin := bootTime()
	w.proxy.Cut()
	until(t, "it has lived for longer than the TTL", func() bool { return w.last("a") > begin+6*time.Second })
	w.write("end", "")
	r.ends(0)
}
