package holdfast_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/memlock"
)

// BenchmarkUncontended is a lock that nobody else wants: what the core itself costs, on the store that costs least. On a busy machine
// cpu-ns/op says more than ns/op; it includes the garbage collection beside it.
func BenchmarkUncontended(b *testing.B) {
	locks, err := holdfast.Open(b.Context(), "mem://")
	if err != nil {
		b.Fatal(err)
	}
	defer locks.Close()
	ctx, m := b.Context(), locks.Mutex("orders/42")
	b.ReportAllocs()
	cpu := processorTime()
	for b.Loop() {
		hold, err := m.Lock(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if err := hold.Unlock(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(processorTime()-cpu)/float64(b.N), "cpu-ns/op")
}

// BenchmarkDo is the same with a context for the work.
func BenchmarkDo(b *testing.B) {
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	ctx, work := b.Context(), func(context.Context) error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		if err := locks.Do(ctx, "orders/42", work); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReentry is a lock inside itself.
func BenchmarkReentry(b *testing.B) {
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	m := locks.Mutex("orders/42")
	outer := mustLock(b, m)
	defer outer.Unlock()
	ctx := outer.Context(b.Context())
	b.ReportAllocs()
	for b.Loop() {
		hold, err := m.Lock(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if err := hold.Unlock(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHeld10000 holds ten thousand locks in one client for a while, and reports what they cost at rest:
//
//	goroutines      more than before: not one for each hold
//	B/hold          memory, the store's own for a lock in memory included
//	cpu-ns/hold-s   processor time for each hold and second, at a TTL of 3 s: about one renewal
//
// ns/op means nothing here: it is the time for which it looks.
func BenchmarkHeld10000(b *testing.B) {
	const holds, watch = 10_000, 5 * time.Second
	names := make([]string, holds)
	for i := range names {
		names[i] = fmt.Sprint("orders/", i)
	}
	for b.Loop() {
		locks := holdfast.New(memlock.New(), holdfast.TTL(3*time.Second))
		goroutines, heap := runtime.NumGoroutine(), liveHeap()
		kept := make([]*holdfast.Hold, holds)
		for i, name := range names {
			kept[i] = mustLock(b, locks.Mutex(name))
		}
		bytes := liveHeap() - heap
		began, cpu := time.Now(), processorTime()
		timer := time.NewTimer(watch)
		<-timer.C
		cpu, elapsed := processorTime()-cpu, time.Since(began)

		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines), "goroutines")
		b.ReportMetric(float64(bytes)/holds, "B/hold")
		b.ReportMetric(float64(cpu)/holds/elapsed.Seconds(), "cpu-ns/hold-s")
		for _, h := range kept {
			if err := h.Unlock(); err != nil {
				b.Fatal(err)
			}
		}
		locks.Close()
	}
}

func liveHeap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
