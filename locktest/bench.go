package locktest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// Bench measures the store that h reaches, as programs use it (lock, try, handover) and as the core does (acquire, renew). A driver's
// benchmark is one line:
//
//	func BenchmarkStore(b *testing.B) { locktest.Bench(b, harness) }
func Bench(b *testing.B, h Harness) {
	b.Helper()
	address := ""
	if h.Start != nil {
		address = h.Start(b)
	}
	bench := &bench{h: h, address: address, attempts: driver.NewAttempts()}
	b.Run("lock", bench.lock)
	b.Run("try", bench.try)
	b.Run("handover", bench.handover)
	b.Run("acquire", bench.acquire)
	b.Run("renew", bench.renew)
}

type bench struct {
	h        Harness
	address  string
	attempts *driver.Attempts
	names    atomic.Int64
}

func (n *bench) open(b *testing.B) driver.Store {
	b.Helper()
	store, err := n.h.Open(b.Context(), n.address)
	if err != nil {
		b.Fatalf("Harness.Open: %v", err)
	}
	return store
}

func (n *bench) locks(b *testing.B) *holdfast.Client {
	b.Helper()
	locks := holdfast.New(n.open(b), holdfast.TTL(time.Minute))
	b.Cleanup(func() { locks.Close() })
	return locks
}

func (n *bench) name() string { return fmt.Sprint("locktest/bench/", n.names.Add(1)) }

// lock measures Lock and Unlock of a lock that nobody else wants.
func (n *bench) lock(b *testing.B) {
	mutex := n.locks(b).Mutex(n.name())
	b.ReportAllocs()
	for b.Loop() {
		hold, err := mutex.Lock(b.Context())
		if err != nil {
			b.Fatalf("Lock: %v", err)
		}
		if err := hold.Unlock(); err != nil {
			b.Fatalf("Unlock: %v", err)
		}
	}
}

// try measures TryLock of a lock that somebody else has.
func (n *bench) try(b *testing.B) {
	name := n.name()
	hold, err := n.locks(b).Mutex(name).Lock(b.Context())
	if err != nil {
		b.Fatalf("Lock: %v", err)
	}
	mutex := n.locks(b).Mutex(name)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := mutex.TryLock(b.Context()); err == nil {
			b.Fatal("TryLock of a lock that somebody has was granted")
		}
	}
	hold.Unlock()
}

// handover measures how fast a lock goes from one to the next when many on several clients want it.
func (n *bench) handover(b *testing.B) {
	name := n.name()
	var mutexes []*holdfast.Mutex
	for range 4 {
		mutexes = append(mutexes, n.locks(b).Mutex(name))
	}
	var next atomic.Int64
	b.SetParallelism(8)
	b.ReportAllocs()
	b.RunParallel(func(work *testing.PB) {
		mutex := mutexes[int(next.Add(1))%len(mutexes)]
		for work.Next() {
			hold, err := mutex.Lock(context.Background())
			if err != nil {
				b.Errorf("Lock: %v", err)
				return
			}
			if err := hold.Unlock(); err != nil {
				b.Errorf("Unlock: %v", err)
				return
			}
		}
	})
}

// acquire measures the driver alone: Acquire and Release.
func (n *bench) acquire(b *testing.B) {
	store := n.open(b)
	defer store.Close()
	name := n.name()
	b.ReportAllocs()
	for b.Loop() {
		r := &driver.Request{Name: name, Attempt: n.attempts.Next(), Mode: driver.Exclusive, TTL: time.Minute}
		if _, err := store.Acquire(b.Context(), r); err != nil {
			b.Fatalf("Acquire: %v", err)
		}
		if err := store.Release(b.Context(), r); err != nil {
			b.Fatalf("Release: %v", err)
		}
	}
}

// renew measures what the core does all the time for everything that is held.
func (n *bench) renew(b *testing.B) {
	store := n.open(b)
	defer store.Close()
	r := &driver.Request{Name: n.name(), Attempt: n.attempts.Next(), Mode: driver.Exclusive, TTL: time.Minute}
	grant, err := store.Acquire(b.Context(), r)
	if err != nil {
		b.Fatalf("Acquire: %v", err)
	}
	defer store.Release(context.WithoutCancel(b.Context()), r)
	if grant.Lease == nil {
		return // nothing runs out
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := grant.Lease.Renew(b.Context(), time.Minute); err != nil {
			b.Fatalf("Renew: %v", err)
		}
	}
}
