package locktest_test

import (
	"net"
	"testing"

	"holdfast.dev/locktest"
	"holdfast.dev/locktest/remote"
	"holdfast.dev/memlock"
)

// TestRemote runs the whole kit, with real processes and a real network between them and a store that is memlock behind a socket.
func TestRemote(t *testing.T) {
	locktest.Run(t, locktest.Harness{Start: serve, Open: remote.Dial, Link: locktest.TCP(remote.Dial)})
}

// serve serves a new memlock server on this machine, and returns its address.
func serve(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- remote.Serve(listener, memlock.NewServer().Connect()) }()
	t.Cleanup(func() {
		listener.Close()
		if err := <-served; err != nil {
			t.Errorf("serving memlock: %v", err)
		}
	})
	return listener.Addr().String()
}
