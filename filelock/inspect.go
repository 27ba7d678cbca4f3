package filelock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"strings"

	"holdfast.dev/driver"
)

// Inspect shows the lock, or with driver.Permits the semaphore, of that name; see driver.Inspector. It changes nothing, and does
// not show what belongs to a process that has ended.
func (st *Store) Inspect(ctx context.Context, name string, mode driver.Mode) (*driver.Info, error) {
	if err := driver.CheckName(name); err != nil {
		return nil, err
	}
	info, err := st.show(ctx, keyOf(name, mode))
	if err != nil || info.Name != "" {
		return info, err
	}
	info.Name, info.Mode = name, driver.Exclusive
	if mode == driver.Permits {
		info.Mode = driver.Permits
	}
	return info, nil
}

// List shows everything whose name begins with prefix; see driver.Inspector. Should there be files that cannot be read, it shows
// the others first, and then the first error. Whoever goes through the list may close the store meanwhile: that ends it.
func (st *Store) List(ctx context.Context, prefix string) iter.Seq2[*driver.Info, error] {
	return func(yield func(*driver.Info, error) bool) {
		keys, err := st.keysNow(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		var problem error
		for _, key := range keys {
			name, readable := encoding.Decode(key[len(lockPrefix):])
			if readable && !strings.HasPrefix(name, prefix) {
				continue
			}
			info, err := st.show(ctx, key)
			switch {
			case err != nil && (ctx.Err() != nil || st.isClosed()):
				yield(nil, err)
				return
			case err != nil:
				problem = cmp.Or(problem, err)
			case strings.HasPrefix(info.Name, prefix) && len(info.Holders)+len(info.Waiters) > 0:
				if !yield(info, nil) {
					return
				}
			}
		}
		if problem != nil {
			yield(nil, problem)
		}
	}
}

// begin makes sure that Close waits for a call that only looks: for as long as it works on files, which is short, and ends with
// Close where it is not; not while whoever called has control.
func (st *Store) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended {
		return errClosed
	}
	st.running.Add(1)
	return nil
}

// show describes what a lock's file says; without a name: there is none.
func (st *Store) show(ctx context.Context, key string) (*driver.Info, error) {
	if err := st.begin(ctx); err != nil {
		return nil, err
	}
	defer st.running.Done()
	s, err := st.readState(ctx, key)
	if errors.Is(err, errNoFile) {
		return &driver.Info{}, nil
	}
	if err != nil {
		return nil, err
	}
	return st.describe(s)
}

// keysNow lists the files of locks, for somebody who only looks.
func (st *Store) keysNow(ctx context.Context) ([]string, error) {
	if err := st.begin(ctx); err != nil {
		return nil, err
	}
	defer st.running.Done()
	return st.keys()
}

// keys lists the files of locks. What is not named like one is not ours.
func (st *Store) keys() ([]string, error) {
	entries, err := os.ReadDir(st.dir.locks.Name())
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, e := range entries {
		if isKey(e.Name()) {
			keys = append(keys, e.Name())
		}
	}
	return keys, nil
}

// isKey reports whether a file's name is one that keyOf makes.
func isKey(name string) bool {
	if !strings.HasPrefix(name, lockPrefix) && !strings.HasPrefix(name, permitsPrefix) {
		return false
	}
	key := name[len(lockPrefix):]
	_, ok := encoding.Decode(key)
	return ok || encoding.Hashed(key)
}

// readState reads a lock's file, under a shared guard.
func (st *Store) readState(ctx context.Context, key string) (*state, error) {
	return st.readGuarded(key, func(f *os.File) (*os.File, error) { return lockFile(ctx, st.closed, f, false) })
}

// readGuarded reads a lock's file. guard takes its flock, and closes the file if it cannot. A file that was removed meanwhile says
// nothing: the one that is there now is read.
func (st *Store) readGuarded(key string, guard func(*os.File) (*os.File, error)) (s *state, err error) {
	for again := true; again; {
		s, again, err = st.readOnce(key, guard)
	}
	return s, err
}

func (st *Store) readOnce(key string, guard func(*os.File) (*os.File, error)) (s *state, again bool, err error) {
	path := st.dir.lockPath(key)
	f, err := openIn(st.dir.locks, key, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if st.dir.moved() {
			return nil, false, fmt.Errorf("%s: %w", st.dir.path, errMoved)
		}
		return nil, false, errNoFile
	}
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", path, advise(err))
	}
	if f, err = guard(f); err != nil {
		return nil, false, err
	}
	defer f.Close()
	lk := st.stray(key)
	info, err := f.Stat() // not before: its maker may have been at work
	if err == nil {
		if same, err := lk.same(info); err != nil || !same {
			return nil, err == nil, err
		}
		_, err = st.checkMade(f, info)
	}
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", path, err)
	}
	b := newBox(f, 0, lockMagic)
	text, err := b.read(false)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", path, advise(err))
	}
	s, err = decodeState(string(text))
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", path, advise(err))
	}
	s.adopt(lk.store.now(), false)
	return s, false, lk.checkName(s)
}

// describe shows a state as it would be if everybody had noticed who is dead. That may be more than it says: nothing is served here.
func (st *Store) describe(s *state) (*driver.Info, error) {
	now := st.now().now
	for _, client := range s.clients() {
		life, err := st.probe(client)
		if err != nil && life != odd {
			return nil, err
		}
		if life == dead {
			s.bury(client, now)
		}
	}
	s.settle(now)
	info := &driver.Info{Name: s.name, Mode: s.mode(), Limit: s.limit, Holders: s.describe(now)}
	if !s.permits {
		info.Limit = 0
	}
	if len(s.holders) > 0 {
		info.Mode = s.holders[0].mode
	}
	for _, e := range s.queue {
		info.Waiters = append(info.Waiters, driver.Waiter{Label: e.label, Mode: e.mode, N: e.n, Waited: now.sub(e.since)})
	}
	return info, nil
}
