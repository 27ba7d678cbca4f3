package linear_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"holdfast.dev/torture/internal/generate"
	"holdfast.dev/torture/internal/linear"
)

// A million operations of a lock that does nothing wrong raise no alarm, in rounds of the usual size and in long ones.
func TestAMillionGood(t *testing.T) {
	total := 1_000_000
	if testing.Short() {
		total = 50_000
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	done, operations, segments := 0, 0, 0
	for i := uint64(0); done < total; i++ {
		o := generate.Options{Operations: 3000, Unfenced: i%5 == 3, NoExpiry: i%4 == 2, TTL: time.Duration(i%4) * 500 * time.Millisecond}
		if i%10 == 9 {
			o.Operations = 20_000
		}
		if i%7 == 6 {
			o.Class = "none"
		}
		r, err := linear.Check(generate.Good(seed+i, o), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range r.Violations {
			t.Errorf("seed %d, %+v: %v", seed+i, o, v)
		}
		if t.Failed() {
			break
		}
		done, operations, segments = done+o.Operations, operations+r.Operations, segments+r.Segments
	}
	t.Logf("%d operations of workers: %d operations of locks, in %d segments", done, operations, segments)
}
