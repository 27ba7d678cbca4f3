package locktest_test

import (
	"context"
	"net"
	"testing"

	"holdfast.dev/driver"
	"holdfast.dev/locktest"
	"holdfast.dev/locktest/remote"
	"holdfast.dev/memlock"
)

// A driver's test: a server of its own, how to open a client, and a link with faults. (In a driver the function is called
// TestConformance, and startServer starts the real server.)
func ExampleRun() {
	startServer := func(t testing.TB) (address string) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go remote.Serve(l, memlock.New())
		return l.Addr().String()
	}
	_ = func(t *testing.T) {
		locktest.Run(t, locktest.Harness{
			Start: startServer,
			Open:  func(ctx context.Context, address string) (driver.Store, error) { return remote.Dial(ctx, address) },
			Link:  locktest.TCP(remote.Dial),
		})
	}
}

// The kit also measures, and fuzzes names, on the same harness.
func ExampleBench() {
	h := locktest.Harness{
		Open:      func(context.Context, string) (driver.Store, error) { return memlock.New(), nil },
		InProcess: true,
	}
	_ = func(b *testing.B) { locktest.Bench(b, h) }     // func BenchmarkStore
	_ = func(f *testing.F) { locktest.FuzzNames(f, h) } // func FuzzNames
}
