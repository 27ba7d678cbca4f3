//go:build linux

package endtoend_test

import (
	"math/rand/v2"
	"testing"
	"time"
)

// newRandom makes the moments of a test, and says how to have them again.
func newRandom(t *testing.T) *rand.Rand {
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("random moments: -seed=%d", s)
	return rand.New(rand.NewPCG(s, 0))
}

// pause lets up to so many milliseconds pass. Every length is as good as any other: it chooses a moment, and waits for nothing.
func pause(random *rand.Rand, milliseconds int) {
	<-time.After(time.Duration(random.Int64N(int64(milliseconds) * int64(time.Millisecond))))
}
