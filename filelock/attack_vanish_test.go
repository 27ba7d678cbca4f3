//go:build linux

package filelock_test

import (
	"os"
	"path/filepath"
	"testing"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// harms are what can happen to a lock's file while it is in use. undo brings back what can be brought back.
var harms = map[string]struct {
	do, undo func(t *testing.T, path string)
}{
	"unlinked": {
		do:   func(t *testing.T, path string) { must(t, os.Remove(path)) },
		undo: func(*testing.T, string) {},
	},
	"renamed": {
		do:   func(t *testing.T, path string) { must(t, os.Rename(path, path+".away")) },
		undo: func(t *testing.T, path string) { must(t, os.Remove(path+".away")) },
	},
	"renamed and brought back": {
		do: func(t *testing.T, path string) {
			must(t, os.Rename(path, path+".away"))
			must(t, os.Rename(path+".away", path))
		},
		undo: func(*testing.T, string) {},
	},
	"replaced by a copy": {
		do: func(t *testing.T, path string) {
			contents, err := os.ReadFile(path)
			must(t, err)
			write(t, path+".copy", string(contents))
			must(t, os.Rename(path+".copy", path))
		},
		undo: func(*testing.T, string) {},
	},
	"replaced by an empty file": {
		do: func(t *testing.T, path string) {
			must(t, os.Remove(path))
			write(t, path, "")
		},
		undo: removeIfThere,
	},
	"emptied": {
		do:   func(t *testing.T, path string) { must(t, os.Truncate(path, 0)) },
		undo: removeIfThere,
	},
	"truncated": {
		do:   func(t *testing.T, path string) { must(t, os.Truncate(path, 100)) },
		undo: removeIfThere,
	},
	"overwritten": {
		do:   func(t *testing.T, path string) { write(t, path, "junk") },
		undo: removeIfThere,
	},
	"replaced by a symlink": {
		do: func(t *testing.T, path string) {
			must(t, os.Rename(path, path+".away"))
			must(t, os.Symlink(path+".away", path))
		},
		undo: func(t *testing.T, path string) {
			must(t, os.Remove(path))
			must(t, os.Rename(path+".away", path))
		},
	},
	"linked to": {
		do:   func(t *testing.T, path string) { must(t, os.Link(path, path+".link")) },
		undo: func(t *testing.T, path string) { must(t, os.Remove(path+".link")) },
	},
	"opened to others": {
		do:   func(t *testing.T, path string) { must(t, os.Chmod(path, 0o644)) },
		undo: func(t *testing.T, path string) { must(t, os.Chmod(path, 0o600)) },
	},
}

// TestHarmedWhileHeld: whatever is done to the file of a lock that is held, nobody else gets the lock while its holder has it, and
// in the end the lock works again. The holder is told the truth, or nothing.
func TestHarmedWhileHeld(t *testing.T) {
	for name, harm := range harms {
		t.Run(name, func(t *testing.T) {
			dir := newDir(t)
			locks, other := open(t, dir), open(t, dir)
			hold := take(t, locks, "lock")
			path := lockFile(t, dir)
			harm.do(t, path)
			denied(t, other, "lock")
			denied(t, locks, "lock")
			newcomer := open(t, dir) // its sweep must not make it free either
			denied(t, newcomer, "lock")
			if err := hold.Err(); err != nil {
				t.Errorf("nobody else can have it, and the hold says %v", err)
			}
			harm.undo(t, path)
			if err := hold.Unlock(); err != nil {
				t.Logf("what the holder sees: %v", err)
			}
			next := gets(t, other, "lock")
			if next.Token() <= hold.Token() {
				t.Errorf("token %d was granted after token %d", next.Token(), hold.Token())
			}
			denied(t, newcomer, "lock")
			unlock(t, next)
			unlock(t, gets(t, newcomer, "lock"))
			for _, c := range []*holdfast.Client{locks, other, newcomer} {
				shut(t, c)
			}
			nothingLeft(t, dir)
		})
	}
}

// TestHarmedWhileWaitedFor: the same with others in the queue. All of them get the lock in the end, one after the other, and never
// before the holder has let go.
func TestHarmedWhileWaitedFor(t *testing.T) {
	for name, harm := range harms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := newDir(t)
			holder, waiters := here(t, dir), []*party{there(t, dir), here(t, dir), there(t, dir)}
			first := holder.holds("h", "lock")
			for _, w := range waiters {
				w.queues("w", "lock")
			}
			path := lockFile(t, dir)
			harm.do(t, path)
			t.Logf("what a newcomer sees: %s", here(t, dir).fails("new", "lock", trying))
			harm.undo(t, path)
			holder.tell(order{Do: "unlock", ID: "h"})
			freed := holder.hears("unlocked", "h")
			t.Logf("what the holder sees: %s", freed.Error)
			drain(t, waiters, freed.At, first.Token)
		})
	}
}

// drain lets waiters have the lock, in whatever order they get it: each must, none beside another, with rising tokens.
func drain(t *testing.T, waiters []*party, possible driver.Instant, top uint64) {
	t.Helper()
	type news struct {
		who  int
		word word
		err  error
	}
	heard := make(chan news, len(waiters))
	for i, w := range waiters {
		go func() {
			said, err := w.listenFor("granted", "w")
			heard <- news{i, said, err}
		}()
	}
	for range waiters {
		n := <-heard
		if n.err != nil {
			t.Errorf("waiter %d: %v", n.who, n.err)
			continue
		}
		if n.word.At.Before(possible) {
			t.Errorf("waiter %d was granted %v before the one before it let go", n.who, possible.Sub(n.word.At))
		}
		if n.word.Token <= top {
			t.Errorf("waiter %d got token %d after token %d", n.who, n.word.Token, top)
		}
		top = n.word.Token
		w := waiters[n.who]
		w.tell(order{Do: "unlock", ID: "w"})
		said := w.hears("unlocked", "w")
		if possible = said.At; said.Error != "" {
			t.Errorf("waiter %d: unlocking: %s", n.who, said.Error)
		}
	}
}

// TestDirectoryHarmed: the whole directory vanishes while a lock is held. Everybody is told; nobody hangs; if it comes back, the hold
// is still there.
func TestDirectoryHarmed(t *testing.T) {
	t.Run("renamed", func(t *testing.T) {
		dir := newDir(t)
		locks, other := open(t, dir), open(t, dir)
		hold := take(t, locks, "lock")
		must(t, os.Rename(dir, dir+".away"))
		denied(t, other, "lock")
		denied(t, other, "another")
		if _, err := os.Lstat(dir); !os.IsNotExist(err) {
			t.Errorf("the directory was made anew by a client of the old one: %v", err)
		}
		must(t, os.Rename(dir+".away", dir))
		denied(t, other, "lock")
		unlock(t, hold)
		unlock(t, gets(t, other, "lock"))
		shut(t, locks)
		shut(t, other)
		nothingLeft(t, dir)
	})
	t.Run("replaced", func(t *testing.T) {
		dir := newDir(t)
		locks := open(t, dir)
		hold := take(t, locks, "lock")
		must(t, os.Rename(dir, dir+".away"))
		fresh := open(t, dir) // a new store at the same place
		denied(t, locks, "another")
		t.Logf("what the holder sees: %v", hold.Unlock())
		second := take(t, fresh, "lock")
		t.Logf("what Close of the old store says: %v", locks.Close())
		unlock(t, second)
		shut(t, fresh)
		nothingLeft(t, dir)
	})
	t.Run("deleted", func(t *testing.T) {
		dir := newDir(t)
		locks, waiter := open(t, dir), there(t, dir)
		hold := take(t, locks, "lock")
		waiter.queues("w", "lock")
		must(t, os.RemoveAll(dir))
		denied(t, locks, "another")
		t.Logf("what the holder sees: %v", hold.Unlock())
		t.Logf("what Close says: %v", locks.Close())
		waiter.tell(order{Do: "cancel", ID: "w"})
		t.Logf("what a waiter sees that gives up: %s", waiter.hears("failed", "w").Error)
		if _, err := os.Lstat(filepath.Join(dir)); !os.IsNotExist(err) {
			t.Errorf("the directory was made anew by a client of the old one: %q", filesIn(t, dir))
		}
	})
}
