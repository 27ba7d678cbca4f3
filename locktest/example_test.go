package locktest_test

import (
	"context"
	"testing"

	"holdfast.dev/driver"
	"holdfast.dev/locktest"
	"holdfast.dev/memlock"
)

// The whole test of a driver. A store in this process needs no server to be started; other processes cannot reach it.
func ExampleRun() {
	server := memlock.NewServer()
	harness := locktest.Harness{
		Open:      func(context.Context, string) (driver.Store, error) { return server.Connect(), nil },
		InProcess: true,
	}
	// In a file memlock_test.go these are the functions TestConformance, FuzzNames and BenchmarkStore.
	_ = func(t *testing.T) { locktest.Run(t, harness) }
	_ = func(f *testing.F) { locktest.FuzzNames(f, harness) }
	_ = func(b *testing.B) { locktest.Bench(b, harness) }
}

// The harness of a store on the network: a server of its own, clients of its address, and a link with real faults.
func ExampleTCP() {
	start := func(t testing.TB) (address string) {
		// Start the server on a free port, end it by t.Cleanup, and return its address.
		return "127.0.0.1:6379"
	}
	open := func(ctx context.Context, address string) (driver.Store, error) {
		u, err := driver.ParseURL("mystore://" + address)
		if err != nil {
			return nil, err
		}
		return memlock.Open(ctx, u) // here: the driver under test
	}
	_ = func(t *testing.T) {
		locktest.Run(t, locktest.Harness{Start: start, Open: open, Link: locktest.TCP(open)})
	}
}
