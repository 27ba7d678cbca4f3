package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"holdfast.dev/driver"
	"holdfast.dev/locktest"
)

// harness is all that a driver's conformance test needs: the address is the directory.
func harness(options ...Option) locktest.Harness {
	return locktest.Harness{
		Start: func(t testing.TB) string { return newDir(t) },
		Open:  func(ctx context.Context, dir string) (driver.Store, error) { return Open(ctx, dir, options...) },
		State: leftovers,
	}
}

// onNetwork makes a store work as on a network file system: regular files instead of pipes, and wall time.
func onNetwork(c *config) { c.network = true }

// leftovers lists the files of locks with entries in them, and clients that are dead.
func leftovers(_ context.Context, dir string) (things []string, err error) {
	st := &Store{config: config{clock: wallClock()}, dir: &directory{path: dir}}
	if err := st.dir.openParts(); err != nil {
		return nil, err
	}
	defer st.dir.close()
	keys, err := st.keys()
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		s, err := st.readState(context.Background(), key)
		if errors.Is(err, errNoFile) || err == nil && s.empty() {
			continue // left for the next time
		}
		things = append(things, fmt.Sprintf("the file %s: %v", key, err))
	}
	seen, err := st.count()
	for _, id := range seen.dead {
		things = append(things, "the client "+id)
	}
	return things, err
}

func TestConformance(t *testing.T)        { locktest.Run(t, harness()) }
func TestConformancePolling(t *testing.T) { locktest.Run(t, harness(Polling())) }
func TestConformanceNetwork(t *testing.T) { locktest.Run(t, harness(onNetwork)) }
func FuzzNames(f *testing.F)              { locktest.FuzzNames(f, harness()) }
func BenchmarkStore(b *testing.B)         { locktest.Bench(b, harness()) }

// After all clients have closed nothing is left but the record and two empty directories.
func TestNothingIsLeft(t *testing.T) {
	dir := newDir(t)
	var stores []*Store
	for range 3 {
		st, err := Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		stores = append(stores, st)
	}
	attempts := driver.NewAttempts()
	for i, st := range stores {
		r := &driver.Request{Name: fmt.Sprint("lock ", i%2), Attempt: attempts.Next(), Mode: driver.Shared, TTL: 1}
		if _, err := st.Acquire(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for _, st := range stores {
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	isEmpty(t, dir)
}

func isEmpty(t *testing.T, dir string) {
	t.Helper()
	for _, part := range []string{locksName, clientsName} {
		entries, err := os.ReadDir(filepath.Join(dir, part))
		if err != nil || len(entries) > 0 {
			t.Errorf("in %s is left: %v (%v)", part, entries, err)
		}
	}
}
