//go:build linux

package filelock_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"holdfast.dev"
)

// open opens a store as programs do, and closes it at the end.
func open(t testing.TB, dir string, opts ...holdfast.OpenOption) *holdfast.Client {
	t.Helper()
	locks, err := holdfast.Open(t.Context(), storeURL(dir), opts...)
	if err != nil {
		t.Fatalf("opening the store: %v", err)
	}
	t.Cleanup(func() { locks.Close() })
	return locks
}

// take gets a lock that must be free.
func take(t testing.TB, locks *holdfast.Client, name string) *holdfast.Hold {
	t.Helper()
	hold, err := locks.Mutex(name).TryLock(t.Context())
	if err != nil {
		t.Fatalf("the lock %q must be free: %v", name, err)
	}
	return hold
}

// gets waits for a lock that must be free in the end.
func gets(t testing.TB, locks *holdfast.Client, name string) *holdfast.Hold {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	hold, err := locks.Mutex(name).Lock(ctx)
	if err != nil {
		t.Fatalf("the lock %q must be free in the end: %v", name, err)
	}
	return hold
}

// unlock unlocks, which must work.
func unlock(t testing.TB, hold *holdfast.Hold) {
	t.Helper()
	if err := hold.Unlock(); err != nil {
		t.Errorf("unlocking: %v", err)
	}
}

// shut closes, which must work.
func shut(t testing.TB, locks *holdfast.Client) {
	t.Helper()
	if err := locks.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
}

// sweeps opens the store anew, which must clean up behind those who died, and closes it: then nothing may be left.
func sweeps(t testing.TB, dir string) {
	t.Helper()
	locks := open(t, dir)
	for info, err := range locks.List(t.Context(), "") {
		t.Errorf("after a sweep the store shows %+v, %v", info, err)
	}
	shut(t, locks)
	nothingLeft(t, dir)
}

// nothingLeft checks that the directory contains what it contains when nobody uses it, and nothing else.
func nothingLeft(t testing.TB, dir string) {
	t.Helper()
	want := []string{"clients", "holdfast", "locks"}
	if got := filesIn(t, dir); !slices.Equal(got, want) {
		t.Errorf("nobody uses the store any more, and its directory contains %q; want %q", firstOf(got, 20), want)
	}
}

func firstOf(list []string, n int) []string {
	if len(list) > n {
		return append(slices.Clone(list[:n]), fmt.Sprintf("and %d more", len(list)-n))
	}
	return list
}

// filesIn lists everything in a directory and below it, sorted.
func filesIn(t testing.TB, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if name, _ := filepath.Rel(dir, path); name != "." && err == nil {
			paths = append(paths, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	return paths
}

// A look is how a tree of files was found: a line for each file, with kind, mode, owner, links, inode, and contents.
type look []string

// lookAt describes a tree, the root included. Links are not followed. except: a file whose contents may change.
func lookAt(t testing.TB, root string, except ...string) (seen look) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		stat := info.Sys().(*syscall.Stat_t)
		name, _ := filepath.Rel(filepath.Dir(root), path)
		line := fmt.Sprintf("%s: %v, user %d, links %d, inode %d", name, info.Mode(), stat.Uid, stat.Nlink, stat.Ino)
		switch {
		case slices.Contains(except, path):
		case info.Mode().IsRegular():
			contents, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(", contents %.50q, %x", contents, sha256.Sum256(contents))
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			line += ", to " + target
		}
		seen = append(seen, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// unchanged checks that a tree is as it was.
func unchanged(t testing.TB, root string, before look, except ...string) {
	t.Helper()
	after := lookAt(t, root, except...)
	for _, line := range before {
		if !slices.Contains(after, line) {
			t.Errorf("this has changed, or is gone: %s", line)
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			t.Errorf("this has changed, or is new: %s", line)
		}
	}
}
