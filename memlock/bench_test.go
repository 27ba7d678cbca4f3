package memlock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// BenchmarkUncontended takes and releases a lock that nobody else wants.
func BenchmarkUncontended(b *testing.B) {
	for _, mode := range []driver.Mode{driver.Exclusive, driver.Shared, driver.Permits} {
		b.Run(mode.String(), func(b *testing.B) {
			store, attempts, ctx := memlock.New(), driver.NewAttempts(), context.Background()
			r := &driver.Request{Name: "orders/42", Mode: mode, TTL: 10 * time.Second, Lost: func(error) {}}
			if mode == driver.Permits {
				r.N, r.Limit = 1, 10
			}
			b.ReportAllocs()
			for b.Loop() {
				r.Attempt = attempts.Next()
				if _, err := store.Acquire(ctx, r); err != nil {
					b.Fatal(err)
				}
				if err := store.Release(ctx, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBesideOthers does the same beside ten thousand other locks that are held.
func BenchmarkBesideOthers(b *testing.B) {
	store, attempts, ctx := memlock.New(), driver.NewAttempts(), context.Background()
	for i := range 10_000 {
		r := &driver.Request{Name: fmt.Sprint("other/", i), Attempt: attempts.Next(), Mode: driver.Exclusive, TTL: time.Hour}
		if _, err := store.Acquire(ctx, r); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		r := &driver.Request{Name: "orders/42", Attempt: attempts.Next(), Mode: driver.Exclusive, TTL: 10 * time.Second}
		if _, err := store.Acquire(ctx, r); err != nil {
			b.Fatal(err)
		}
		if err := store.Release(ctx, r); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRenew renews a hold.
func BenchmarkRenew(b *testing.B) {
	store, attempts, ctx := memlock.New(), driver.NewAttempts(), context.Background()
	r := &driver.Request{Name: "orders/42", Attempt: attempts.Next(), Mode: driver.Exclusive, TTL: 10 * time.Second}
	grant, err := store.Acquire(ctx, r)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := grant.Lease.Renew(ctx, 10*time.Second); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHandOver passes one lock round between goroutines that all want it all the time: each operation is one hand-over. Its
// cost must not grow with the number of those who wait.
func BenchmarkHandOver(b *testing.B) {
	for _, waiters := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprint(waiters, "-waiters"), func(b *testing.B) { handOver(b, waiters) })
	}
}

func handOver(b *testing.B, waiters int) {
	store, attempts := memlock.New(), driver.NewAttempts()
	ctx, cancel := context.WithCancel(context.Background())
	turns := make(chan struct{})
	var running sync.WaitGroup
	for range waiters + 1 {
		running.Go(func() {
			r := &driver.Request{Name: "orders/42", Mode: driver.Exclusive, TTL: time.Hour, Waiting: func(driver.Progress) {}}
			for {
				r.Attempt = attempts.Next()
				if _, err := store.Acquire(ctx, r); err != nil {
					return
				}
				turns <- struct{}{}
				if err := store.Release(context.Background(), r); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for queued := 0; queued < waiters; queued = len(look(b, store, "orders/42", driver.Exclusive).Waiters) {
		time.Sleep(time.Millisecond)
	}
	for b.Loop() {
		<-turns
	}
	cancel()
	go func() { running.Wait(); close(turns) }()
	for range turns {
	}
}
