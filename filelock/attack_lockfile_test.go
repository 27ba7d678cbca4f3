//go:build linux

package filelock_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"holdfast.dev"
)

// plants are things that an attacker, or a mistake, can put in the place of a lock's file.
var plants = map[string]func(t *testing.T, path, victim string){
	"a symlink to a victim":   func(t *testing.T, path, victim string) { must(t, os.Symlink(victim, path)) },
	"a symlink to nothing":    func(t *testing.T, path, victim string) { must(t, os.Symlink(victim+".new", path)) },
	"a symlink to itself":     func(t *testing.T, path, _ string) { must(t, os.Symlink(path, path)) },
	"a symlink to a device":   func(t *testing.T, path, _ string) { must(t, os.Symlink("/dev/zero", path)) },
	"a hard link to a victim": func(t *testing.T, path, victim string) { must(t, os.Link(victim, path)) },
	"a hard link to an empty victim": func(t *testing.T, path, victim string) {
		must(t, os.Truncate(victim, 0))
		must(t, os.Link(victim, path))
	},
	"a named pipe": func(t *testing.T, path, _ string) { must(t, syscall.Mkfifo(path, 0o600)) },
	"a directory":  func(t *testing.T, path, _ string) { must(t, os.Mkdir(path, 0o700)) },
	"a socket": func(t *testing.T, path, _ string) {
		t.Chdir(filepath.Dir(path)) // the names of sockets are short
		l, err := net.Listen("unix", filepath.Base(path))
		must(t, err)
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		must(t, l.Close())
	},
	"junk":        func(t *testing.T, path, _ string) { write(t, path, strings.Repeat("junk\n", 1000)) },
	"little junk": func(t *testing.T, path, _ string) { write(t, path, "x") },
	"a file that others may read": func(t *testing.T, path, _ string) {
		write(t, path, "")
		must(t, os.Chmod(path, 0o644))
	},
	"a file that others may write": func(t *testing.T, path, _ string) {
		write(t, path, "")
		must(t, os.Chmod(path, 0o602))
	},
}

// TestPlantedLockFile: what is in the place of a lock's file and is not ours is not followed, not written to, not removed, and said.
func TestPlantedLockFile(t *testing.T) {
	for name, plant := range plants {
		t.Run(name, func(t *testing.T) {
			around := t.TempDir()
			dir, victim := filepath.Join(around, "store"), write(t, filepath.Join(around, "victim"), "precious")
			locks := open(t, dir)
			hold := take(t, locks, "lock")
			path := lockFile(t, dir)
			unlock(t, hold)
			shut(t, locks)
			plant(t, path, victim)

			record := filepath.Join(dir, "holdfast")
			before := lookAt(t, around, record)
			locks = open(t, dir) // a sweep, too, leaves it alone
			err := denied(t, locks, "lock")
			if errors.Is(err, holdfast.ErrHeld) {
				t.Errorf("%v says that somebody holds the lock; nobody does", err)
			}
			if !strings.Contains(err.Error(), filepath.Base(path)) {
				t.Errorf("%v does not name the file", err)
			}
			if info, err := locks.Inspect(t.Context(), "lock"); err == nil && len(info.Holders) > 0 {
				t.Errorf("inspection shows %+v", info)
			} else {
				t.Logf("what a user sees of Inspect: %v", err)
			}
			for info, err := range locks.List(t.Context(), "") {
				t.Logf("what a user sees of List: %+v, %v", info, err)
			}
			unlock(t, take(t, locks, "another")) // the rest of the store works
			shut(t, locks)
			unchanged(t, around, before, record)

			must(t, os.RemoveAll(path))
			locks = open(t, dir)
			unlock(t, take(t, locks, "lock"))
		})
	}
}

// TestLockFileOfAnother: the file says whose it is, so one under another's name is not believed.
func TestLockFileOfAnother(t *testing.T) {
	dir := newDir(t)
	locks, other := open(t, dir), open(t, dir)
	hold := take(t, locks, "b")
	path := lockFile(t, dir)
	unlock(t, hold)
	shut(t, locks)
	must(t, os.RemoveAll(path))

	locks = open(t, dir)
	hold = take(t, locks, "a")
	contents, err := os.ReadFile(lockFile(t, dir))
	must(t, err)
	write(t, path, string(contents))
	if err := denied(t, other, "b"); errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("%v: that was the holder of another lock", err)
	}
	unlock(t, hold)
	shut(t, locks)
	shut(t, other)
	if after, err := os.ReadFile(path); err != nil || string(after) != string(contents) {
		t.Errorf("the file under a wrong name was changed or removed: %v", err)
	}
}

// TestForeignFiles: files that are not ours, anywhere in the directory, are left alone and disturb nobody.
func TestForeignFiles(t *testing.T) {
	around := t.TempDir()
	dir, victim := filepath.Join(around, "store"), filepath.Join(around, "victim")
	must(t, os.Rename(used(t), dir))
	must(t, os.MkdirAll(filepath.Join(victim, "below"), 0o700))
	write(t, filepath.Join(victim, "below", "file"), "precious")
	for _, name := range []string{"thesis.txt", "locks/thesis.txt", "locks/.hidden", "locks/l-%zz", "locks/x-a", "clients/thesis.txt", "clients/.hidden"} {
		write(t, filepath.Join(dir, name), "precious")
	}
	for _, name := range []string{"below", "locks/below", "clients/below", "clients/0123456789abcdef", "clients/" + strings.Repeat("0", 32)} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		write(t, filepath.Join(dir, name, "thesis.txt"), "precious")
	}
	must(t, os.Symlink(victim, filepath.Join(dir, "clients", strings.Repeat("1", 32))))
	must(t, os.Symlink(victim, filepath.Join(dir, "locks", "l-link")))
	must(t, os.Symlink(victim, filepath.Join(dir, "link")))
	record := filepath.Join(dir, "holdfast")
	before := lookAt(t, around, record)

	locks, other := open(t, dir), open(t, dir)
	hold := take(t, locks, "lock")
	if _, err := other.Mutex("lock").TryLock(t.Context()); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("a lock that is held says %v", err)
	}
	unlock(t, hold)
	unlock(t, take(t, other, "lock"))
	died := there(t, dir)
	died.holds("h", "lock")
	died.kill()
	unlock(t, gets(t, locks, "lock"))
	shut(t, locks)
	shut(t, other)
	locks = open(t, dir)
	for info, err := range locks.List(t.Context(), "") {
		t.Logf("what a user sees of List: %+v, %v", info, err)
	}
	shut(t, locks)
	unchanged(t, around, before, record)
}
