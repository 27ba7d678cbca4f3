package filelock

import (
	"testing"
	"time"

	"holdfast.dev/driver"
)

// clocked is a client whose clock has another zero, as in a time namespace, or that has none but the wall clock.
func clocked(name string, ahead time.Duration) config {
	if name == wallName {
		return config{boot: systemBoot(), clock: wallClock()}
	}
	machine := machineClock(systemBoot())
	return config{boot: systemBoot(), clock: clock{name, func() stamp { return machine.now().add(ahead) }}}
}

// A minimum hold is as long for a process that counts by another clock as for the one that has it: neither is it over at once, nor
// does it last for longer than it is long.
func TestKeepAcrossClocks(t *testing.T) {
	const keep = time.Hour
	for name, other := range map[string]config{
		"ahead": clocked("boot-ahead", 1000*time.Hour), "behind": clocked("boot-behind", -1000*time.Hour), "wall": clocked(wallName, 0),
	} {
		t.Run(name, func(t *testing.T) {
			dir := newDir(t)
			for i, order := range [][2]config{{config{boot: systemBoot()}, other}, {other, config{boot: systemBoot()}}} {
				a, b := opened(t, dir, order[0]), opened(t, dir, order[1])
				lock := []string{"x", "y"}[i]
				r := ask(lock, driver.Exclusive, keeping(keep))
				token := take(t, a, r).Token
				p := queue(t, b, ask(lock, driver.Exclusive))
				free(t, a, r)
				for _, st := range []*Store{a, b, a} {
					h := taken(t, st, lock).Holders[0]
					if !h.Kept || h.Left > keep || h.Left < keep-soon || h.Held < 0 || h.Held > soon {
						t.Errorf("it is held by %+v; want it kept for about %v", h, keep)
					}
					if w := look(t, st, lock).Waiters[0]; w.Waited < 0 || w.Waited > soon {
						t.Errorf("somebody has waited for %v", w.Waited)
					}
				}
				if err := b.Break(t.Context(), &driver.BreakRequest{Name: lock, Token: token, Now: true}); err != nil {
					t.Error(err)
				}
				p.granted()
			}
		})
	}
}

// A short minimum hold ends for who waits by another clock.
func TestKeepEndsAcrossClocks(t *testing.T) {
	dir := newDir(t)
	a, b := opened(t, dir), opened(t, dir, clocked("boot-behind", -1000*time.Hour))
	r := ask("x", driver.Exclusive, keeping(50*time.Millisecond))
	take(t, a, r)
	p := queue(t, b, ask("x", driver.Exclusive))
	free(t, a, r)
	p.granted()
}

// Whoever adopts another clock's stamps while the wall clock was set back keeps a hold for its length, once, and not anew each time.
func TestAdoptCuts(t *testing.T) {
	hour := int64(time.Hour)
	held := func() *state {
		return &state{clock: "a", epoch: 100 * hour, holders: []*entry{
			{phase: kept, keep: time.Hour, since: 5, granted: 7, until: 7 + stamp(hour), wall: 101*hour + 7, line: "old"},
		}, queue: []*entry{{phase: waiting, since: 9, line: "old"}}}
	}
	for _, c := range []struct {
		wall int64
		left time.Duration
		cut  bool
	}{{101 * hour, 7, false}, {50 * hour, time.Hour, true}, {102 * hour, 7 - time.Hour, false}} {
		s, at := held(), moment{now: stamp(hour), wall: c.wall, clock: "b"}
		if cut := s.adopt(at, false); cut != c.cut {
			t.Errorf("at %d: cut is %v", c.wall, cut)
		}
		h := s.holders[0]
		if h.until != at.now.add(c.left) || h.wall != at.wall+int64(c.left) || h.line != "" || s.queue[0].line != "" {
			t.Errorf("at %d: %+v; want %v left", c.wall, h, c.left)
		}
		if shift := stamp(100*hour - at.epoch()); h.since != 5+shift || h.granted != 7+shift || s.queue[0].since != 9+shift {
			t.Errorf("at %d: since %d, granted %d; want them to be moved by %d", c.wall, h.since, h.granted, shift)
		}
		later := at
		later.now, later.wall, later.clock = at.now+1, at.wall+1, "c"
		if s.adopt(later, false) || s.holders[0].until != at.now.add(c.left) {
			t.Errorf("at %d: it ends at %d when adopted again; want %d", c.wall, s.holders[0].until, at.now.add(c.left))
		}
	}
	if s := held(); s.adopt(moment{now: 1, wall: 2, clock: "a"}, false) || s.holders[0].line == "" {
		t.Error("stamps of the same clock were changed")
	}
}
