package driver

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Whatever is set, moved and cleared, what is due comes out, once, in the order of its time.
func TestAgendaAgainstASortedList(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var a Agenda[int]
	entries := make([]Entry[int], 50)
	want := map[int]Instant{}
	for i := range entries {
		entries[i].What = i
	}
	now := Instant(0)
	for range 20_000 {
		e := &entries[random.IntN(len(entries))]
		switch random.IntN(4) {
		case 0, 1:
			at := now + Instant(random.IntN(1000))
			a.Set(e, at)
			want[e.What] = at
		case 2:
			a.Clear(e)
			delete(want, e.What)
		case 3:
			now += Instant(random.IntN(100))
			last := Instant(-1)
			for e := a.Due(now); e != nil; e = a.Due(now) {
				if e.IsSet() || e.At() != want[e.What] || e.At() < last || e.At() > now {
					t.Fatalf("at %d: %d came out for %d after %d, want %d", now, e.What, e.At(), last, want[e.What])
				}
				last = e.At()
				delete(want, e.What)
			}
		}
		earliest := Never
		for i, at := range want {
			earliest = min(earliest, at)
			if !entries[i].IsSet() {
				t.Fatalf("%d is not set", i)
			}
		}
		if a.Next() != earliest || a.Len() != len(want) {
			t.Fatalf("next %d of %d, want %d of %d", a.Next(), a.Len(), earliest, len(want))
		}
	}
}

// An entry that is taken off leaves no reference behind.
func TestAgendaForgets(t *testing.T) {
	var a Agenda[string]
	first, second := &Entry[string]{What: "first"}, &Entry[string]{What: "second"}
	a.Set(first, 1)
	a.Set(second, 2)
	a.Clear(first)
	a.Clear(first) // does nothing
	if a.Due(1) != nil || a.Due(2) != second || a.Due(Never) != nil || a.Next() != Never {
		t.Error("what was cleared is still there, or what was set is not")
	}
	if slices.ContainsFunc(a.entries[:cap(a.entries)], func(e *Entry[string]) bool { return e != nil }) {
		t.Error("the heap keeps what it no longer has")
	}
}
