package filelock

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
)

func randomState(random *rand.Rand) *state {
	id := func() string { return fmt.Sprintf("%016x%016x", random.Uint64(), random.Uint64()) }
	labels := []string{"", "host:1", "a \"b\"\n\\", "ü \x00\xff", strings.Repeat("x", 300), "- - -"}
	s := &state{name: []string{"x", "a \"b\" \\", "ü"}[random.IntN(3)], permits: random.IntN(2) == 0, limit: random.IntN(9), next: 5, end: 5 + uint64(random.IntN(60)),
		clock: []string{"", "wall", "boot-12345678"}[random.IntN(3)], epoch: random.Int64() - 1<<62}
	for range random.IntN(6) {
		e := &entry{
			phase: []phase{waiting, holding, kept, ghost}[random.IntN(4)], client: id(), attempt: id(), label: labels[random.IntN(len(labels))],
			mode: driver.Mode(1 + random.IntN(3)), n: random.IntN(3), since: stamp(random.Int64()), keep: time.Duration(random.IntN(5)),
			token: random.Uint64() >> 1, granted: stamp(random.Int64()), until: stamp(random.Int64()), wall: random.Int64(),
			broken: random.IntN(2) == 0, by: labels[random.IntN(len(labels))],
		}
		switch e.phase {
		case waiting:
			s.queue = append(s.queue, e)
		case ghost:
			s.ghosts = append(s.ghosts, e)
		case kept:
			e.client, e.attempt = "", ""
			fallthrough
		default:
			s.holders = append(s.holders, e)
		}
	}
	return s
}

// bareState is a state without what is only remembered.
func bareState(s *state) *state {
	for _, list := range [][]*entry{s.holders, s.queue, s.ghosts} {
		for _, e := range list {
			e.line = ""
		}
	}
	return s
}

func TestStateSurvivesItsText(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 2))
	for range 500 {
		s := randomState(random)
		text := string(s.encode(nil))
		got, err := decodeState(text)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		if again := string(got.encode(nil)); again != text {
			t.Fatalf("seed %d: encoded again it is\n%s, not\n%s", seed, again, text)
		}
		if !reflect.DeepEqual(bareState(s), bareState(got)) {
			t.Fatalf("seed %d: something was lost of\n%s", seed, text)
		}
	}
}

// Whatever a file says: it is refused, or understood in one way.
func FuzzDecodeState(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		f.Add(string(randomState(random).encode(nil)))
	}
	f.Add("lock 0 1 65 \"x\"\n")
	f.Add("lock 0 1 65 \"x\"\nh - - 1 0 0 0 0 0 0 0 0 \"\" \"\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := decodeState(text)
		if err != nil {
			return
		}
		again, err := decodeState(string(bareState(s).encode(nil)))
		if err != nil {
			t.Fatalf("%v\n%q", err, text)
		}
		if !reflect.DeepEqual(bareState(s), bareState(again)) {
			t.Fatalf("understood in two ways: %q", text)
		}
	})
}
