package locktest

import (
	"context"
	"strings"
	"testing"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
)

// TCP makes a Harness.Link for a store whose address is host:port, or unix: and the path of a socket, or several of them with commas between: a
// proxy between the client and each server, with faults that are real, and befall all of them. open is usually the same function as Harness.Open.
func TCP(open func(ctx context.Context, address string) (driver.Store, error)) func(testing.TB, string) (driver.Store, Faults) {
	return func(t testing.TB, address string) (driver.Store, Faults) {
		t.Helper()
		var faults tcpFaults
		var addresses []string
		for one := range strings.SplitSeq(address, ",") {
			proxy, err := netfault.New(one)
			if err != nil {
				t.Fatalf("locktest.TCP: %v", err)
			}
			t.Cleanup(func() { proxy.Close() }) // after the store, which is closed by whoever asked for it
			faults, addresses = append(faults, proxy), append(addresses, proxy.Addr())
		}
		store, err := open(t.Context(), strings.Join(addresses, ","))
		if err != nil {
			t.Fatalf("locktest.TCP: opening the store through a proxy: %v", err)
		}
		return store, faults
	}
}

type tcpFaults []*netfault.Proxy

func (f tcpFaults) each(fault func(*netfault.Proxy)) {
	for _, proxy := range f {
		fault(proxy)
	}
}

func (f tcpFaults) HoldRequests() { f.each((*netfault.Proxy).HoldRequests) }
func (f tcpFaults) HoldReplies()  { f.each((*netfault.Proxy).HoldReplies) }
func (f tcpFaults) Resume()       { f.each((*netfault.Proxy).Resume) }
func (f tcpFaults) Strand()       { f.each((*netfault.Proxy).Strand) }

// Cut resets the connections, and lifts what holds for new ones.
func (f tcpFaults) Cut() {
	f.each((*netfault.Proxy).Cut)
	f.Resume()
}
