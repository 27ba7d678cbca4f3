package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"holdfast.dev/driver"
)

// lacking is a calm client that has no descriptor left for some file of other clients, while short says so.
func lacking(file string, short *atomic.Bool) config {
	c := calm()
	c.lack = func(path string) error {
		if filepath.Base(path) == file && short.Load() {
			return syscall.EMFILE
		}
		return nil
	}
	return c
}

// Nobody is granted a lock without being told: if its bell cannot be rung for want of a descriptor, nothing is written, and whoever
// released tries again.
func TestNoDescriptorForABell(t *testing.T) {
	var short atomic.Bool
	dir := newDir(t)
	h, w := opened(t, dir, lacking(bellName, &short)), opened(t, dir, calm())
	held := ask("x", driver.Exclusive, func(r *driver.Request) { r.Label = "holder" })
	take(t, h, held)
	p := queue(t, w, ask("x", driver.Exclusive))
	short.Store(true)
	if err := h.Release(t.Context(), held); !errors.Is(err, syscall.EMFILE) || driver.Answered(err) || !strings.Contains(err.Error(), "ulimit") {
		t.Errorf("Release without a descriptor for the bell: %v; want it to be unknown, with advice", err)
	}
	if info := look(t, w, "x"); len(info.Holders) != 1 || info.Holders[0].Label != "holder" {
		t.Errorf("%+v; want the lock as it was", info.Holders)
	}
	p.waits()
	short.Store(false)
	free(t, h, held)
	p.granted()
}

// A waiter that cannot watch the holder, for want of a descriptor, tries again.
func TestNoDescriptorForAWatch(t *testing.T) {
	var short atomic.Bool
	short.Store(true)
	dir := newDir(t)
	h, w := opened(t, dir, calm()), opened(t, dir, lacking(aliveName, &short))
	take(t, h, ask("x", driver.Exclusive))
	p := queue(t, w, ask("x", driver.Exclusive))
	short.Store(false)
	until(t, "the waiter watching the holder", func() bool {
		w.watchMu.Lock()
		defer w.watchMu.Unlock()
		return w.watches[h.id] != nil
	})
	p.waits()
	kill(h)
	p.granted()
}

// A bell that is full loses what is rung: whoever reads it looks at everything.
func TestFullBell(t *testing.T) {
	dir := newDir(t)
	h, w := opened(t, dir, calm()), opened(t, dir, calm())
	held := ask("x", driver.Exclusive)
	take(t, h, held)
	p := queue(t, w, ask("x", driver.Exclusive))
	bell, err := os.OpenFile(w.dir.clientPath(w.id, bellName), os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer bell.Close()
	w.mu.Lock() // whoever reads the bell gets stuck at it, with one handful of rings
	if err := fillBell(bell); err != nil {
		t.Error(err)
	}
	free(t, h, held)
	w.mu.Unlock()
	p.granted()
}

// fillBell rings for a lock that nobody has, until no ring fits any more and nobody makes room.
func fillBell(bell *os.File) error {
	conn, err := bell.SyscallConn()
	if err != nil {
		return err
	}
	rings := sumOf("nobody's")
	for failed := 0; failed < 1000; failed++ { // its reader may be slow to get stuck
		var full error
		if err := conn.Write(func(fd uintptr) bool {
			for full == nil {
				_, full = syscall.Write(int(fd), rings[1:1+ringLen])
			}
			return true
		}); err != nil {
			return err
		}
		if full != syscall.EAGAIN {
			return full
		}
		syscall.Nanosleep(&syscall.Timespec{Nsec: 10_000}, nil)
	}
	return nil
}

// No child that this process starts inherits what its locks depend on.
func TestFilesAreNotInherited(t *testing.T) {
	st := opened(t, newDir(t))
	take(t, st, ask("x", driver.Exclusive))
	key := keyOf("x", driver.Exclusive)
	record := filepath.Join(st.dir.path, recordName)
	for what, open := range map[string]func() (*os.File, error){
		"a lock's file":         func() (*os.File, error) { return openIn(st.dir.locks, key, os.O_RDWR, 0) },
		"a lock's file to read": func() (*os.File, error) { return openIn(st.dir.locks, key, os.O_RDONLY, 0) },
		"the record":            func() (*os.File, error) { return openNoFollow(record, os.O_RDWR, 0) },
		"a pipe":                func() (*os.File, error) { return openPipe(st.dir.clientPath(st.id, aliveName), os.O_RDONLY) },
		"a copy":                func() (*os.File, error) { return duplicate(st.presence.alive) },
	} {
		f, err := open()
		if err != nil {
			t.Fatal(err)
		}
		flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_GETFD, 0)
		if errno != 0 || flags&syscall.FD_CLOEXEC == 0 {
			t.Errorf("%s: children inherit it (%#x, %v)", what, flags, errno)
		}
		f.Close()
	}
}
