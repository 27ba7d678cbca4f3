package redislock_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// The module bench measures this driver beside others. These are for a profile of it alone.

func BenchmarkSolo(b *testing.B) {
	locks, err := holdfast.Open(b.Context(), "redis://"+start(b)+"?guard=0")
	if err != nil {
		b.Fatal(err)
	}
	defer locks.Close()
	m := locks.Mutex("bench")
	for b.Loop() {
		hold, err := m.Lock(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		if err := hold.Unlock(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkApart(b *testing.B) {
	locks, err := holdfast.Open(b.Context(), "redis://"+start(b)+"?guard=0")
	if err != nil {
		b.Fatal(err)
	}
	defer locks.Close()
	var last atomic.Int64
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		m := locks.Mutex(fmt.Sprint("bench ", last.Add(1)))
		for pb.Next() {
			hold, err := m.Lock(context.Background())
			if err != nil {
				b.Error(err)
				return
			}
			if err := hold.Unlock(); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkCrowd is 256 goroutines on one lock, over four clients: one operation is one hand-over.
func BenchmarkCrowd(b *testing.B) {
	address := start(b)
	var clients []*holdfast.Client
	for range 4 {
		locks, err := holdfast.Open(b.Context(), "redis://"+address+"?guard=0")
		if err != nil {
			b.Fatal(err)
		}
		defer locks.Close()
		clients = append(clients, locks)
	}
	var last atomic.Int64
	b.SetParallelism(128)
	b.RunParallel(func(pb *testing.PB) {
		m := clients[last.Add(1)%4].Mutex("bench")
		for pb.Next() {
			hold, err := m.Lock(context.Background())
			if err != nil {
				b.Error(err)
				return
			}
			hold.Unlock()
		}
	})
}

// BenchmarkDriver leaves the core out.
func BenchmarkDriver(b *testing.B) {
	store, err := openGuardless(b.Context(), start(b))
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	attempts := driver.NewAttempts()
	for b.Loop() {
		r := &driver.Request{Name: "bench", Attempt: attempts.Next(), Mode: driver.Exclusive, TTL: holdfast.DefaultTTL}
		if _, err := store.Acquire(context.Background(), r); err != nil {
			b.Fatal(err)
		}
		if err := store.Release(context.Background(), r); err != nil {
			b.Fatal(err)
		}
	}
}
