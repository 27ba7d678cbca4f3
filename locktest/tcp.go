package locktest

import (
	"context"
	"testing"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
)

// TCP makes a Harness.Link for a store whose address is host:port, or unix: and the path of a socket: a proxy between the client and
// its server, with faults that are real. open is usually the same function as Harness.Open.
func TCP(open func(ctx context.Context, address string) (driver.Store, error)) func(testing.TB, string) (driver.Store, Faults) {
	return func(t testing.TB, address string) (driver.Store, Faults) {
		t.Helper()
		proxy, err := netfault.New(address)
		if err != nil {
			t.Fatalf("locktest.TCP: %v", err)
		}
		t.Cleanup(func() { proxy.Close() }) // after the store, which is closed by whoever asked for it
		store, err := open(t.Context(), proxy.Addr())
		if err != nil {
			t.Fatalf("locktest.TCP: opening the store through a proxy: %v", err)
		}
		return store, tcpFaults{proxy}
	}
}

type tcpFaults struct{ *netfault.Proxy }

// Cut resets the connections, and lifts what holds for new ones.
func (f tcpFaults) Cut() {
	f.Proxy.Cut()
	f.Proxy.Resume()
}
