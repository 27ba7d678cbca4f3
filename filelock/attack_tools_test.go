//go:build linux

package filelock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"holdfast.dev"
)

// refused checks that Open refuses a directory, and returns what it says. What it says is logged: it is what a user has to go by.
func refused(t *testing.T, dir string) error {
	t.Helper()
	locks, err := holdfast.Open(t.Context(), storeURL(dir))
	if err == nil {
		locks.Close()
		t.Fatal("Open accepted it")
	}
	t.Logf("what a user sees: %v", err)
	return err
}

// write makes a file.
func write(t testing.TB, path, contents string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(contents), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// must is for steps that prepare an attack.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// used makes a store that was used before and that nobody uses now.
func used(t *testing.T) string {
	t.Helper()
	dir := newDir(t)
	locks := open(t, dir)
	unlock(t, take(t, locks, "lock"))
	shut(t, locks)
	return dir
}

// lockFile finds the file of a lock, in a store where nothing else is locked.
func lockFile(t testing.TB, dir string) string {
	t.Helper()
	files := filesIn(t, filepath.Join(dir, "locks"))
	if len(files) != 1 {
		t.Fatalf("one lock is in use, and there are the files %q", files)
	}
	return filepath.Join(dir, "locks", files[0])
}

// denied checks that a lock cannot be had, and returns why. It must be an error of the store, not the end of the caller's patience.
func denied(t testing.TB, locks *holdfast.Client, name string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	hold, err := locks.Mutex(name).TryLock(ctx)
	if err == nil {
		t.Fatalf("the lock %q was granted, token %d", name, hold.Token())
	}
	if errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("no answer: %v", err)
	}
	t.Logf("what a user sees: %v", err)
	return err
}

// removeIfThere removes what may be gone already.
func removeIfThere(t *testing.T, path string) {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}
