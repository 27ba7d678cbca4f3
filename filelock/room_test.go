package filelock

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
)

// A hand-over never makes the text longer, whoever is served and by whatever clock: so a release needs no space of the disk.
func TestHandOverNeedsNoRoom(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 10))
	for range 300 {
		s := &state{name: "x", next: 1, end: 2, clock: wallName, limit: 5, permits: random.IntN(2) == 0}
		id := strings.Repeat("0123456789abcdef", 2)
		for i := range 1 + random.IntN(30) {
			e := &entry{phase: waiting, client: id, attempt: id, label: strings.Repeat("l", random.IntN(9)), since: stamp(i), mode: driver.Shared}
			if s.permits {
				e.mode, e.n = driver.Permits, 1+random.IntN(5)
			} else if random.IntN(4) == 0 {
				e.mode = driver.Exclusive
			}
			if random.IntN(2) == 0 {
				e.keep = time.Duration(1 + random.IntN(9))
			}
			s.queue = append(s.queue, e)
		}
		size := len(s.encode(nil))
		at := moment{now: math.MaxInt64 - 100, wall: math.MinInt64, clock: "boot-00000000"}
		for token := uint64(math.MaxInt64); !s.empty(); token-- {
			if _, err := s.serve(at, func() (uint64, error) { s.next, s.end = token, token+1; return token, nil }); err != nil {
				t.Fatal(err)
			}
			s.clock, s.epoch = at.clock, math.MinInt64
			text := s.encode(nil)
			if len(text) > size {
				t.Fatalf("seed %d: %d bytes after a hand-over, %d before:\n%s", seed, len(text), size, text)
			}
			if _, err := decodeState(string(text)); err != nil {
				t.Fatalf("seed %d: %v:\n%s", seed, err, text)
			}
			size = len(text)
			s.leave(s.holders[0], random.IntN(2) == 0, at.now)
			if s.settle(at.now.add(100)); len(s.encode(nil)) > size {
				t.Fatalf("seed %d: a release makes it longer", seed)
			}
		}
	}
}

// paper is a file that remembers what was ever written to.
type paper struct {
	disk
	used []bool
}

func (p *paper) WriteAt(text []byte, off int64) (int, error) {
	for end := int(off) + len(text); len(p.used) < end; {
		p.used = append(p.used, false)
	}
	for i := range text {
		p.used[int(off)+i] = true
	}
	return p.disk.WriteAt(text, off)
}

// However much a text grows at once, no part of the file is left out: what is written there later needs no space of the disk.
func TestBoxHasNoHoles(t *testing.T) {
	for _, lengths := range [][]int{{10, 4 * firstRegion}, {10, 20, 9 * firstRegion}, {5 * firstRegion, 100 * firstRegion}, {10, firstRegion + 1}} {
		p := &paper{disk: disk{left: -1}}
		b := newBox(p, 0, lockMagic)
		for _, n := range lengths {
			if err := b.write([]byte(strings.Repeat("x", n))); err != nil {
				t.Fatal(err)
			}
		}
		for at, used := range p.used {
			if !used {
				t.Errorf("lengths %v: byte %d of %d was never written", lengths, at, len(p.used))
				break
			}
		}
		if size := len(p.used); size < int(regionBase+2*b.size) {
			t.Errorf("lengths %v: %d bytes, for two regions of %d", lengths, size, b.size)
		}
		c := newBox(p, 0, lockMagic)
		if text, err := c.read(false); err != nil || len(text) != lengths[len(lengths)-1] {
			t.Errorf("lengths %v: %d bytes are read, %v", lengths, len(text), err)
		}
	}
}

// A user's part of the disk that is full is like a disk that is full: it says what to do, and may pass.
func TestQuotaIsLikeFull(t *testing.T) {
	if err := advise(errQuota); !strings.Contains(err.Error(), "make room") {
		t.Errorf("%v: it does not say what to do", err)
	}
	if !passing(errQuota) {
		t.Error("it is not tried again")
	}
}
