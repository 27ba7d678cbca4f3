package holdfast_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/memlock"
)

const (
	many = 10_000
	few  = 10 // goroutines of the runtime and of earlier tests come and go
)

// Rule: a client at rest has no goroutine per hold: ten thousand holds are ten thousand small structs.
func TestHoldsHaveNoGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := connect(t, memlock.NewServer())
		before := runtime.NumGoroutine()
		holds := make([]*holdfast.Hold, many)
		for i := range holds {
			holds[i] = mustLock(t, locks.Mutex(fmt.Sprint(i)))
			holds[i].Context(t.Context())
		}
		synctest.Wait()
		if n := runtime.NumGoroutine() - before; n > few {
			t.Errorf("%d goroutines for %d holds", n, many)
		}
		time.Sleep(holdfast.DefaultTTL) // all were renewed, more than once
		synctest.Wait()
		if n := runtime.NumGoroutine() - before; n > few {
			t.Errorf("%d goroutines for %d holds, a TTL later", n, many)
		}
		for _, h := range holds {
			mustUnlock(t, h)
		}
		if tenures, leases, alarms, running := locks.Residue(); tenures+leases+alarms+running != 0 {
			t.Errorf("left over: %d tenures, %d leases, %d alarms, %d running", tenures, leases, alarms, running)
		}
	})
}

// Rule: a client that was closed leaves no goroutine behind, in real time as well.
func TestNoGoroutinesAfterClose(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 10 {
		server := memlock.NewServer()
		one, two := holdfast.New(server.Connect()), holdfast.New(server.Connect())
		mustLock(t, one.Mutex("a", holdfast.TTL(holdfast.MinTTL)))
		waits := make(chan error)
		go func() { _, err := two.Mutex("a").Lock(t.Context()); waits <- err }()
		two.Close()
		expect(t, <-waits, holdfast.ErrClosed)
		one.Close()
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<16)
			t.Fatalf("%d goroutines more than before:\n%s", runtime.NumGoroutine()-before, buf[:runtime.Stack(buf, true)])
		}
	}
}

// Rule: locking and unlocking, and waiting in vain, leave nothing behind in the client.
func TestNothingPilesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		locks := s.open(t)
		for i := range 1000 {
			hold := mustLock(t, locks.Mutex(fmt.Sprint(i%7), holdfast.TTL(time.Second)))
			ctx := hold.Context(t.Context())
			inner := mustLockIn(ctx, t, locks.Mutex(fmt.Sprint(i%7)))
			time.Sleep(time.Duration(i%5) * 300 * time.Millisecond)
			mustUnlock(t, inner)
			mustUnlock(t, hold)
		}
		synctest.Wait()
		if tenures, leases, alarms, running := locks.Residue(); tenures+leases+alarms+running != 0 {
			t.Errorf("left over: %d tenures, %d leases, %d alarms, %d running", tenures, leases, alarms, running)
		}
	})
}
