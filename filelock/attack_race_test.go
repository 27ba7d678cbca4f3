//go:build linux

package filelock_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast.dev"
)

// TestSwapped: somebody swaps the file of a lock for something else, again and again, while others lock and unlock it: between a look
// at the file and its use. Nothing is written through a link, no two hold at once, and in the end the lock works.
func TestSwapped(t *testing.T) {
	for name, swap := range map[string]func(t *testing.T, path, victim string){
		"for a symlink":      func(t *testing.T, path, victim string) { must(t, os.Symlink(victim, path+".swap")) },
		"for a hard link":    func(t *testing.T, path, victim string) { must(t, os.Link(victim, path+".swap")) },
		"for an empty file":  func(t *testing.T, path, _ string) { write(t, path+".swap", "") },
		"for a foreign file": func(t *testing.T, path, _ string) { write(t, path+".swap", "junk") },
	} {
		t.Run(name, func(t *testing.T) {
			around := t.TempDir()
			dir, victim := filepath.Join(around, "store"), write(t, filepath.Join(around, "victim"), "")
			locks := []*holdfast.Client{open(t, dir), open(t, dir)}
			hold := take(t, locks[0], "lock")
			path := lockFile(t, dir)
			unlock(t, hold)
			before := lookAt(t, victim)
			stop, inside, got := make(chan struct{}), new(atomic.Int32), new(atomic.Int32)
			var all sync.WaitGroup
			for _, c := range locks {
				all.Go(func() { tryUntil(t, c, stop, inside, got) })
			}
			for range 300 {
				swap(t, path, victim)
				must(t, os.Rename(path+".swap", path))
				removeIfThere(t, path) // an empty one may have been used and removed
			}
			close(stop)
			all.Wait()
			t.Logf("%d holds in between", got.Load())
			unchanged(t, victim, before)
			for _, c := range locks {
				unlock(t, getsInTheEnd(t, c, "lock"))
			}
			for _, c := range locks {
				shut(t, c)
			}
			nothingLeft(t, dir)
		})
	}
}

// tryUntil locks and unlocks until stop is closed, and counts how many are inside. Errors are to be expected.
func tryUntil(t *testing.T, locks *holdfast.Client, stop <-chan struct{}, inside, got *atomic.Int32) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		hold, err := locks.Mutex("lock").TryLock(context.Background())
		if err != nil {
			continue
		}
		if n := inside.Add(1); n != 1 {
			t.Errorf("%d are inside", n)
		}
		got.Add(1)
		inside.Add(-1)
		hold.Unlock() // what became of the file is not its doing
	}
}

// getsInTheEnd is gets where the store may refuse for a while: what was done to it has to be cleared away first.
func getsInTheEnd(t testing.TB, locks *holdfast.Client, name string) *holdfast.Hold {
	t.Helper()
	var hold *holdfast.Hold
	var err error
	for late := now().Add(patience / 4); now().Before(late); time.Sleep(time.Millisecond) {
		if hold, err = locks.Mutex(name).TryLock(t.Context()); err == nil {
			return hold
		}
	}
	t.Fatalf("the lock %q must be free in the end: %v", name, err)
	return nil
}
