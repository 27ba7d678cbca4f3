package filelock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// A guard is a lock's file, open and with its flock: while we have it nobody else reads or changes that lock.
//
// The kernel lets go of it when its process ends. A process that is stopped (SIGSTOP) just while it has one delays that one lock
// until it goes on: the others wait, for as long as their contexts allow.

var (
	errNoFile = errors.New("there is no such file")
	errMoved  = errors.New("the directory was removed or replaced after it was opened: what was held in it is not protected any more; open the store again")
)

// A flockWait is a call of flock that waits. It cannot be cancelled, so it has a thread of its own, and outlives whoever gave
// up; the next who wants the same file goes on with it, so there is one for each lock at most.
type flockWait struct {
	file *os.File
	got  chan error // has one element when the wait is over and was not given up

	mu      sync.Mutex
	givenUp bool
	over    bool // given up, and over: the file is closed
}

func waitForFlock(f *os.File, exclusive bool) *flockWait {
	w := &flockWait{file: f, got: make(chan error, 1)}
	go func() {
		_, err := flock(f, exclusive, true)
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.givenUp {
			w.over = true
			f.Close()
			return
		}
		w.got <- err
	}()
	return w
}

// giveUp leaves the wait to itself, or to somebody who resumes it.
func (w *flockWait) giveUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.givenUp = true
	select {
	case <-w.got: // just then
		w.over = true
		w.file.Close()
	default:
	}
}

// resume goes on with a wait that was given up, unless it is over.
func (w *flockWait) resume() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.givenUp = false
	return !w.over
}

func (w *flockWait) isOver() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over
}

// take opens the lock's file and takes its flock: the guard. Whoever calls it has the turn. Without create, a file that does
// not exist is errNoFile.
func (lk *lock) take(ctx context.Context, create bool) (*os.File, os.FileInfo, error) {
	for {
		f, err := lk.open(ctx, create)
		if err != nil {
			return nil, nil, err
		}
		info, err := lk.check(f)
		if info != nil && err == nil {
			return f, info, nil
		}
		f.Close()
		if err != nil {
			return nil, nil, err
		}
	}
}

// open opens the lock's file and takes its flock, without looking whether it is still the right one.
func (lk *lock) open(ctx context.Context, create bool) (*os.File, error) {
	w := lk.pending
	lk.pending = nil
	if w == nil || !w.resume() {
		f, err := lk.openFile(create)
		if err != nil {
			return nil, err
		}
		got, err := flock(f, true, false)
		if err != nil {
			f.Close()
			return nil, lk.problem(err)
		}
		if got {
			return f, nil
		}
		w = waitForFlock(f, true)
	}
	select {
	case err := <-w.got:
		if err != nil {
			w.file.Close()
			return nil, lk.problem(err)
		}
		return w.file, nil
	case <-lk.store.done(ctx):
		w.giveUp()
		return nil, errClosed
	case <-ctx.Done():
		w.giveUp()
		lk.pending = w
		return nil, lk.problem(fmt.Errorf("another process is using it: %w", ctx.Err()))
	}
}

// openFile opens the lock's file, and makes it if it is to be made.
func (lk *lock) openFile(create bool) (*os.File, error) {
	for {
		f, err := openIn(lk.store.dir.locks, lk.key, os.O_RDWR, 0)
		switch {
		case err == nil:
			return f, nil
		case !create || !errors.Is(err, fs.ErrNotExist) || lk.store.dir.moved(): // nothing is made where nobody would look for it
			return nil, lk.openProblem(err, create)
		}
		if err := lk.make(); err != nil {
			return nil, err
		}
	}
}

// check returns what f is if it is still the file that the path leads to, and nil if it is not. It refuses one that is not as we
// make them.
func (lk *lock) check(f *os.File) (os.FileInfo, error) {
	opened, err := f.Stat()
	if err != nil {
		return nil, lk.problem(err)
	}
	if same, err := lk.same(opened); !same || err != nil {
		return nil, err
	}
	if opened, err = lk.store.checkMade(f, opened); err != nil {
		return nil, lk.problem(err)
	}
	return opened, nil
}

// same reports whether a file that was opened is the one that the path leads to. By the path, not in the directory that is open:
// so it notices too if that was replaced.
func (lk *lock) same(opened os.FileInfo) (bool, error) {
	there, err := os.Lstat(lk.path())
	switch {
	case err == nil && os.SameFile(opened, there):
		return true, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, lk.problem(err)
	case lk.store.dir.moved():
		return false, fmt.Errorf("%s: %w", lk.store.dir.path, errMoved)
	}
	return false, nil
}

func (lk *lock) path() string { return lk.store.dir.lockPath(lk.key) }

// problem names the file in an error.
func (lk *lock) problem(err error) error { return fmt.Errorf("%s: %w", lk.path(), bare(err)) }

// openProblem says why the file could not be opened, or written, and what to do.
func (lk *lock) openProblem(err error, create bool) error {
	if errors.Is(err, fs.ErrNotExist) {
		switch {
		case lk.store.dir.moved():
			return fmt.Errorf("%s: %w", lk.store.dir.path, errMoved)
		case !create:
			return errNoFile
		}
	}
	return lk.problem(advise(err))
}

// advise adds to an error what to do about it.
func advise(err error) error {
	for _, known := range []struct {
		err    error
		advice string
	}{
		{syscall.ELOOP, "it is a symbolic link, and we make none: remove it"},
		{syscall.EMFILE, "raise the limit of this process (ulimit -n)"},
		{syscall.ENOSPC, "make room on the disk; what is held can still be released"},
		{errQuota, "make room: this user may not use more of the disk; what is held can still be released"},
		{fs.ErrPermission, "let it belong to the user whom this process runs as, with mode 0600"},
		{syscall.EROFS, "locks need a directory that can be written to"},
		{errBlank, "we make no such file, so it is left alone: if no process of ours uses it, remove it"},
		{errDamaged, "it is left alone: if no process of ours uses it, remove it"},
	} {
		if errors.Is(err, known.err) {
			return fmt.Errorf("%w: %s", bare(err), known.advice)
		}
	}
	return bare(err)
}
