package driver

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A world has a monotonic and a wall clock that a test moves.
type world struct {
	mono, wall time.Duration
	sum        elapsed
}

func (w *world) run(d time.Duration)     { w.mono, w.wall = w.mono+d, w.wall+d }
func (w *world) suspend(d time.Duration) { w.wall += d }
func (w *world) setWall(d time.Duration) { w.wall += d }
func (w *world) now() time.Duration      { return time.Duration(w.sum.both(w.mono, w.wall)) }

func TestElapsed(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(w *world)
		want time.Duration
	}{
		{"runs", func(w *world) { w.run(time.Hour) }, time.Hour},
		{"suspend", func(w *world) { w.run(time.Second); w.suspend(time.Hour); w.run(time.Second) }, time.Hour + 2*time.Second},
		{"two suspends between readings", func(w *world) { w.suspend(time.Hour); w.run(1); w.suspend(time.Hour) }, 2*time.Hour + 1},
		{"two suspends, read between", func(w *world) { w.suspend(time.Hour); w.now(); w.suspend(time.Hour) }, 2 * time.Hour},
		{"wall set forward: the safe mistake", func(w *world) { w.run(time.Second); w.setWall(time.Hour) }, time.Hour + time.Second},
		{"wall set back", func(w *world) { w.run(time.Second); w.setWall(-time.Hour); w.now(); w.run(time.Second) }, 2 * time.Second},
		{"wall set back and forth", func(w *world) { w.setWall(-time.Hour); w.now(); w.setWall(time.Hour); w.now(); w.run(1) }, time.Hour + 1},
		{"suspend after wall set back", func(w *world) { w.setWall(-time.Hour); w.now(); w.suspend(time.Minute) }, time.Minute},
		{"at the threshold", func(w *world) { w.setWall(jump) }, 0},
		{"above the threshold", func(w *world) { w.setWall(jump + 1) }, jump + 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &world{wall: 1e18} // a wall clock does not begin at zero
			w.now()
			c.do(w)
			if got := w.now(); got != c.want {
				t.Errorf("elapsed %v, want %v", got, c.want)
			}
			if got := w.now(); got != c.want {
				t.Errorf("read again without moving: %v, want %v", got, c.want)
			}
		})
	}
}

// However often it is read, small deviations do not add up: neither an adjustment of 500 ppm, nor ticks of 15.6 ms, nor jitter.
func TestElapsedDoesNotRunFast(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const tick = 15625 * time.Microsecond
	upTo := func(d time.Duration) time.Duration { return time.Duration(random.Int64N(int64(d))) }
	every := func(d time.Duration) func() time.Duration { return func() time.Duration { return d } }
	for _, c := range []struct {
		name string
		step func() time.Duration
		wall func(mono time.Duration) time.Duration
	}{
		{"slew, read often", every(time.Millisecond), func(m time.Duration) time.Duration { return m + m/2000 }},
		{"slew, read every second", every(time.Second), func(m time.Duration) time.Duration { return m + m/2000 }},
		{"slew back", every(time.Second), func(m time.Duration) time.Duration { return m - m/2000 }},
		{"coarse wall clock", func() time.Duration { return upTo(time.Millisecond) }, func(m time.Duration) time.Duration { return m / tick * tick }},
		{"jitter", every(0), func(m time.Duration) time.Duration { return m + upTo(jump) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sum elapsed
			var mono time.Duration
			for range 100_000 {
				if got := sum.both(mono, c.wall(mono)); got != Instant(mono) {
					t.Fatalf("shows %v after %v", time.Duration(got), mono)
				}
				mono += c.step()
			}
		})
	}
}

// Whatever the clocks do, it never goes back, and never runs slower than the monotonic clock or a suspend.
func TestElapsedNeverGoesBack(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for range 200 {
		w := &world{wall: 1e18}
		last, passed := w.now(), time.Duration(0)
		for range 100 {
			d := time.Duration(random.Int64N(int64(time.Minute)))
			switch random.IntN(4) {
			case 0:
				w.run(d)
				passed += d
			case 1:
				w.suspend(d + jump + 1)
				passed += d + jump + 1
			case 2:
				w.setWall(-d)
			case 3:
				if now := w.sum.monotonic(w.mono); time.Duration(now) < last {
					t.Fatal("a reading of the monotonic clock alone went back")
				}
			}
			now := w.now()
			if now < last {
				t.Fatalf("went back by %v", last-now)
			}
			if now < passed {
				t.Fatalf("%v elapsed, shows %v", passed, now)
			}
			last = now
		}
	}
}

// A jump that falls on a reading of the monotonic clock alone is not lost.
func TestElapsedInexactReading(t *testing.T) {
	clock := &elapsedClock{}
	var mono, wall time.Duration
	exact := true
	clock.read = func() (time.Duration, time.Duration, bool) { return mono, wall, exact }
	clock.now()
	mono, wall, exact = time.Second, time.Hour, false
	if got := clock.now(); got != Instant(time.Second) {
		t.Errorf("an inexact reading shows %v, want a second", time.Duration(got))
	}
	exact = true
	if got := clock.now(); got != Instant(time.Hour) {
		t.Errorf("the exact reading after it shows %v, want an hour", time.Duration(got))
	}
}

func TestReadTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := readTime()
		time.Sleep(time.Minute)
		if mono, wall, exact := read(); mono != time.Minute || wall != time.Minute || !exact {
			t.Errorf("after a minute: monotonic %v, wall %v, exact %t", mono, wall, exact)
		}
	})
}

// A deadline that a suspend covered rings within about a second of waking, and one that it did not cover does not.
func TestElapsedClockRingsAfterSuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var suspended atomic.Int64
		read := readTime()
		clock := newElapsedClock(func() (time.Duration, time.Duration, bool) {
			mono, wall, exact := read()
			return mono, wall + time.Duration(suspended.Load()), exact
		})
		begin, covered, later := time.Now(), make(chan time.Time, 1), make(chan time.Time, 1)
		clock.At(clock.Now().Add(time.Hour), func() { covered <- time.Now() })
		clock.At(clock.Now().Add(3*time.Hour), func() { later <- time.Now() })
		time.Sleep(22*time.Second + recheck/2)
		suspended.Store(int64(2 * time.Hour))
		woken := time.Now()
		if late := (<-covered).Sub(woken); late <= 0 || late > recheck {
			t.Errorf("rang %v after waking, want at most %v", late, recheck)
		}
		if len(later) > 0 {
			t.Error("a deadline that the suspend did not cover rang")
		}
		if after := (<-later).Sub(begin); after != time.Hour {
			t.Errorf("the later deadline rang after %v beside the suspend, want an hour", after)
		}
		time.Sleep(2 * linger) // time stands still when the bubble's function returns: the goroutine must be gone by now
	})
}
