package memlock_test

import (
	"context"
	"testing"

	"holdfast.dev/driver"
	"holdfast.dev/locktest"
	"holdfast.dev/memlock"
)

// harness is all that a driver's conformance test needs. Other processes cannot reach memory, so one server is enough for all
// clients of this one.
func harness() locktest.Harness {
	server := memlock.NewServer()
	return locktest.Harness{
		Open:      func(context.Context, string) (driver.Store, error) { return server.Connect(), nil },
		InProcess: true,
	}
}

func TestConformance(t *testing.T) { locktest.Run(t, harness()) }
func FuzzNames(f *testing.F)       { locktest.FuzzNames(f, harness()) }
func BenchmarkStore(b *testing.B)  { locktest.Bench(b, harness()) }
