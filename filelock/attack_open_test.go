//go:build linux

package filelock_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"holdfast.dev"
)

// TestOpenWithoutRoom: a store that cannot be made because the disk is full says so, and what to do; and it can be made when there is
// room again.
func TestOpenWithoutRoom(t *testing.T) {
	place := mounted(t, "size=64k")
	if place == "" {
		return
	}
	const page, size = 4096, 64 * 1024
	for left := 0; left <= 4*page; left += page { // it ends at another step each time
		dir, filler := filepath.Join(place, "store"), filepath.Join(place, "filler")
		write(t, filler, strings.Repeat("x", size-left))
		if !refusedWith(t, dir, "no space left", "make room on the disk") && left < page {
			t.Errorf("a store was made on a full disk")
		}
		must(t, os.Remove(filler))
		shut(t, open(t, dir))
		must(t, os.RemoveAll(dir))
	}
}

// TestOpenReadOnly: the same for a file system that cannot be written to, whether there is a store in it or not.
func TestOpenReadOnly(t *testing.T) {
	place := mounted(t, "size=1m")
	if place == "" {
		return
	}
	dir := filepath.Join(place, "store")
	shut(t, open(t, dir))
	must(t, syscall.Mount("holdfast", place, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	for _, dir := range []string{dir, filepath.Join(place, "new")} {
		if !refusedWith(t, dir, "read-only", "can be written to") {
			t.Errorf("%s was opened", dir)
		}
	}
}

// refusedWith opens a store, and reports whether that failed; then it must be with these words.
func refusedWith(t *testing.T, dir string, words ...string) bool {
	t.Helper()
	locks, err := holdfast.Open(context.Background(), "file://"+dir)
	if err == nil {
		shut(t, locks)
		return false
	}
	t.Logf("what a user sees: %v", err)
	for _, word := range words {
		if !strings.Contains(err.Error(), word) || strings.Contains(err.Error(), "write: write") {
			t.Errorf("%v; want it to say %q", err, word)
		}
	}
	return true
}
