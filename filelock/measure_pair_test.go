//go:build linux

package filelock_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// BenchmarkPair: a lock that nobody else wants, locked and unlocked, beside the system call flock(2) on a file of its own, in turns, so
// that a busy machine slows all of them alike. The ratios are what counts.
func BenchmarkPair(b *testing.B) {
	const times = 200 // pairs in a row
	variants := []struct {
		name string
		pair func(i int) error
		took time.Duration
	}{
		{name: "flock", pair: flockPair(b)},
		{name: "open+flock", pair: openFlockPair(b)},
		{name: "driver", pair: driverPair(b)},
		{name: "core", pair: corePair(b, 1)},
		{name: "core-100-names", pair: corePair(b, 100)},
	}
	i, rounds := 0, 0
	for b.Loop() {
		rounds++
		for v := range variants {
			began := time.Now()
			for range times {
				i++
				if err := variants[v].pair(i); err != nil {
					b.Fatal(err)
				}
			}
			variants[v].took += time.Since(began)
		}
	}
	b.ReportMetric(0, "ns/op")
	flock, openFlock := variants[0].took, variants[1].took
	for _, v := range variants {
		b.ReportMetric(float64(v.took.Nanoseconds())/float64(rounds*times), v.name+"-ns")
	}
	core := variants[3].took
	b.ReportMetric(float64(core)/float64(flock), "core/flock")
	b.ReportMetric(float64(core)/float64(openFlock), "core/open+flock")
	b.ReportMetric(float64(variants[2].took)/float64(openFlock), "driver/open+flock")
}

// flockPair locks and unlocks a file that stays open: the least that a lock between processes can cost.
func flockPair(b *testing.B) func(int) error {
	f, err := os.Create(filepath.Join(b.TempDir(), "file"))
	must(b, err)
	b.Cleanup(func() { f.Close() })
	fd := int(f.Fd())
	return func(int) error {
		if err := syscall.Flock(fd, syscall.LOCK_EX); err != nil {
			return err
		}
		return syscall.Flock(fd, syscall.LOCK_UN)
	}
}

// openFlockPair opens, locks and closes a file: what flock(1) and most lock-file packages do.
func openFlockPair(b *testing.B) func(int) error {
	path := filepath.Join(b.TempDir(), "file")
	return func(int) error {
		fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CREAT|syscall.O_CLOEXEC, 0o600)
		if err != nil {
			return err
		}
		if err := syscall.Flock(fd, syscall.LOCK_EX); err != nil {
			return err
		}
		return syscall.Close(fd)
	}
}

func driverPair(b *testing.B) func(int) error {
	ctx := context.Background()
	store, err := openStore(ctx, newDir(b))
	must(b, err)
	b.Cleanup(func() { store.Close() })
	ids := driver.NewAttempts()
	return func(int) error {
		r := &driver.Request{Name: "lock", Attempt: ids.Next(), Label: "bench", Mode: driver.Exclusive, TTL: holdfast.DefaultTTL}
		if _, err := store.Acquire(ctx, r); err != nil {
			return err
		}
		return store.Release(ctx, r)
	}
}

func corePair(b *testing.B, names int) func(int) error {
	ctx := context.Background()
	locks := open(b, newDir(b))
	mutexes := make([]*holdfast.Mutex, names)
	for i := range mutexes {
		mutexes[i] = locks.Mutex(fmt.Sprint("lock", i))
	}
	return func(i int) error {
		hold, err := mutexes[i%names].Lock(ctx)
		if err != nil {
			return err
		}
		return hold.Unlock()
	}
}
