package filelock

import (
	"context"
	"fmt"
	"os"
	"sync"
)

// A line is where those of this process stand who want the flock of a file only to read it, or the record's. Waiting for a flock takes
// a thread that cannot be called back: so one of them at a time waits for it, the others wait for their turn, and whoever gives up
// leaves its wait to the next. However many ask, and however short their contexts are, one thread waits for one file.
//
// Those who change a lock have the lock's turn, which does the same: see guard.go.
type line struct {
	turn    chan struct{} // has one element
	pending *flockWait    // of somebody who gave up; whose turn it is has it
	users   int           // guarded by lines.mu
}

type lineKey struct {
	path      string
	exclusive bool
}

var lines = struct {
	mu sync.Mutex
	by map[lineKey]*line
}{by: make(map[lineKey]*line)}

// join returns the line for a file, and what leaves it.
func join(key lineKey) (l *line, leave func()) {
	lines.mu.Lock()
	defer lines.mu.Unlock()
	if l = lines.by[key]; l == nil {
		l = &line{turn: make(chan struct{}, 1)}
		l.turn <- struct{}{}
		lines.by[key] = l
	}
	l.users++
	return l, func() {
		lines.mu.Lock()
		defer lines.mu.Unlock()
		l.users--
		for key, l := range lines.by { // those too that were left with a wait which is over by now
			if l.users == 0 && (l.pending == nil || l.pending.isOver()) {
				delete(lines.by, key)
			}
		}
	}
}

// lockFile takes the flock of a file that was just opened. It returns that file, or one that somebody opened before, with the
// flock; the other is closed. It gives up at the end of ctx, or when closed is closed.
func lockFile(ctx context.Context, closed <-chan struct{}, f *os.File, exclusive bool) (*os.File, error) {
	got, err := flock(f, exclusive, false)
	if err != nil {
		f.Close()
		return nil, refused(f.Name(), err)
	}
	if got {
		return f, nil
	}
	l, leave := join(lineKey{f.Name(), exclusive})
	defer leave()
	select {
	case <-l.turn:
		defer func() { l.turn <- struct{}{} }()
	case <-closed:
		f.Close()
		return nil, errClosed
	case <-ctx.Done():
		f.Close()
		return nil, busy(f, ctx)
	}
	w := l.resume(f)
	if w == nil {
		w = waitForFlock(f, exclusive)
	}
	select {
	case err := <-w.got:
		if err != nil {
			w.file.Close()
			return nil, refused(f.Name(), err)
		}
		return w.file, nil
	case <-closed:
		err = errClosed
	case <-ctx.Done():
		err = busy(f, ctx)
	}
	w.giveUp()
	l.pending = w
	return nil, err
}

// resume goes on with the wait of somebody who gave up, if it is one for the same file as f, which is then closed; nil: there is none.
func (l *line) resume(f *os.File) *flockWait {
	w := l.pending
	l.pending = nil
	if w == nil {
		return nil
	}
	mine, err1 := f.Stat()
	its, err2 := w.file.Stat()
	if err1 != nil || err2 != nil || !os.SameFile(mine, its) || !w.resume() {
		return nil
	}
	f.Close()
	return w
}

func busy(f *os.File, ctx context.Context) error {
	return fmt.Errorf("waiting for %s, which another process is using: %w", f.Name(), ctx.Err())
}
