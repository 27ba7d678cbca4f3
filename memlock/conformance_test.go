package memlock

import (
	"context"
	"fmt"
	"testing"

	"holdfast.dev/driver"
	"holdfast.dev/locktest"
)

// harness is all that a driver's conformance test needs. Other processes cannot reach memory, so one server is enough for all
// clients of this one. It is in package memlock because nobody else can see all that is left in memory.
func harness() locktest.Harness {
	server := NewServer()
	return locktest.Harness{
		Open:      func(context.Context, string) (driver.Store, error) { return server.Connect(), nil },
		InProcess: true,
		State:     func(context.Context, string) ([]string, error) { return server.leftovers(), nil },
	}
}

// leftovers lists everything that a server keeps in memory, without the ids of attempts. It does not look at the clock: what should
// have ended by itself must have ended by itself.
func (s *Server) leftovers() (things []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.locks {
		things = append(things, fmt.Sprintf("the lock %q, of permits: %v", k.name, k.permits))
	}
	for id := range s.claims {
		things = append(things, fmt.Sprintf("a claim on %q", id.name))
	}
	for id := range s.tombs {
		things = append(things, fmt.Sprintf("a tombstone on %q", id.name))
	}
	return things
}

func TestConformance(t *testing.T) { locktest.Run(t, harness()) }
func FuzzNames(f *testing.F)       { locktest.FuzzNames(f, harness()) }
func BenchmarkStore(b *testing.B)  { locktest.Bench(b, harness()) }
