package netfault

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Equal seeds give equal delays, other seeds and other connections other ones; all within bounds.
func TestJitterIsSeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const least, jitter = time.Second, 10 * time.Second
		delays := func(number, seed uint64) []time.Duration {
			s := newStream(number, faults{least: least, jitter: jitter, seed: seed})
			var all []time.Duration
			for range 20 {
				s.put([]byte("x"), goesOn)
				begin := time.Now()
				s.next()
				took := time.Since(begin)
				if took < least || took > least+jitter {
					t.Errorf("delayed by %v; want %v to %v", took, least, least+jitter)
				}
				all = append(all, took)
			}
			return all
		}
		one := delays(1, 7)
		if again := delays(1, 7); !slices.Equal(one, again) {
			t.Errorf("equal seeds, different delays: %v and %v", one, again)
		}
		if slices.Equal(one, delays(1, 8)) || slices.Equal(one, delays(2, 7)) {
			t.Error("different seeds or connections, equal delays")
		}
		slices.Sort(one)
		if len(slices.Compact(one)) < 15 {
			t.Errorf("the delays hardly differ: %v", one)
		}
	})
}

// A piece never overtakes the one before it, however short its own delay is.
func TestDelayKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStream(1, faults{jitter: time.Hour, seed: 1})
		for i := range byte(50) {
			s.put([]byte{i}, goesOn)
		}
		s.change(func(f *faults) { *f = faults{} })
		s.put(nil, finished)
		for i := range byte(50) {
			if p, ok := s.next(); !ok || len(p.data) != 1 || p.data[0] != i {
				t.Fatalf("piece %d is %v", i, p)
			}
		}
		if p, _ := s.next(); p.end != finished {
			t.Errorf("after the last byte: %v; want the end", p)
		}
	})
}
