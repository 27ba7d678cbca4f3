package interop_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/interop/internal/line"
)

const (
	crowd      = 4  // of each library
	holds      = 10 // for each of them
	increments = 10 // for each hold
)

// Four of theirs and four of ours count in a file that nothing but the lock protects. Nothing is lost.
func TestContention(t *testing.T) {
	for _, peer := range all() {
		for _, k := range kinds(peer) {
			t.Run(fmt.Sprintf("%s/%v", peer.Name, k), func(t *testing.T) {
				f := newFleet(t, k)
				var contenders []line.Locks
				for range crowd {
					contenders = append(contenders, start(t, peer, f), start(t, ours, f))
				}
				must(t, contend(t.Context(), contenders, newName(t), t.TempDir()))
			})
		}
	}
}

// The same with two of every library at once.
func TestContentionOfAll(t *testing.T) {
	for _, k := range []kind{{1, false}, {3, false}} {
		t.Run(k.String(), func(t *testing.T) {
			f := newFleet(t, k)
			contenders := []line.Locks{start(t, ours, f), start(t, ours, f)}
			for _, peer := range all() {
				if !peer.Single || k.nodes == 1 {
					contenders = append(contenders, start(t, peer, f), start(t, peer, f))
				}
			}
			must(t, contend(t.Context(), contenders, newName(t), t.TempDir()))
		})
	}
}

// contend lets all of them count.
func contend(ctx context.Context, contenders []line.Locks, name, dir string) error {
	file := filepath.Join(dir, "counter")
	if err := write(file, 0); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(contenders))
	var wg sync.WaitGroup
	for i, contender := range contenders {
		wg.Go(func() {
			if errs[i] = count(ctx, contender, name, file); errs[i] != nil {
				cancel() // what the others find then is of no use
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	n, err := read(file)
	if want := len(contenders) * holds * increments; err == nil && n != want {
		err = fmt.Errorf("they counted to %d, %d were lost", n, want-n)
	}
	return err
}

func count(ctx context.Context, locks line.Locks, name, file string) error {
	for range holds {
		if err := locks.Lock(ctx, name, 5*time.Second, 2*time.Minute); err != nil {
			return err
		}
		for range increments {
			n, err := read(file)
			if err == nil {
				err = write(file, n+1)
			}
			if err != nil {
				return fmt.Errorf("somebody else is at the file: %w", err)
			}
		}
		if err := locks.Unlock(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func read(file string) (int, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

func write(file string, n int) error { return os.WriteFile(file, []byte(strconv.Itoa(n)), 0o600) }

// A lock that excludes nobody is found by this.
func TestContentionFindsOpenLock(t *testing.T) {
	t.Parallel()
	var contenders []line.Locks
	for range 2 * crowd {
		contenders = append(contenders, open{})
	}
	if err := contend(t.Context(), contenders, "x", t.TempDir()); err == nil {
		t.Fatal("nothing was found, though nobody was kept out")
	}
}

// open is a lock that everybody has.
type open struct{ line.Locks }

func (open) Lock(context.Context, string, time.Duration, time.Duration) error { return nil }
func (open) Unlock(context.Context, string) error                             { return nil }
