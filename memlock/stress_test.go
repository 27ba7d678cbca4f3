package memlock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// A witness sees who is inside at the same time.
type witness struct {
	t                *testing.T
	readers, writers atomic.Int64
	permits          atomic.Int64
	mu               sync.Mutex
	last             uint64 // the greatest token seen
}

func (w *witness) inside(r *driver.Request, g *driver.Grant) {
	switch r.Mode {
	case driver.Exclusive:
		if w.writers.Add(1) != 1 || w.readers.Load() != 0 {
			w.t.Error("somebody is beside an exclusive holder")
		}
		w.mu.Lock()
		if g.Token <= w.last {
			w.t.Errorf("token %d after %d", g.Token, w.last)
		}
		w.last = g.Token + g.Spare
		w.mu.Unlock()
		w.writers.Add(-1)
	case driver.Shared:
		w.readers.Add(1)
		if w.writers.Load() != 0 {
			w.t.Error("a reader is beside a writer")
		}
		w.readers.Add(-1)
	case driver.Permits:
		if n := w.permits.Add(int64(r.N)); n > int64(r.Limit) {
			w.t.Errorf("%d permits of %d are taken", n, r.Limit)
		}
		w.permits.Add(-int64(r.N))
	}
}

// TestStress lets many goroutines on several connections take, cut off, undo and release a few locks, as fast as they can.
func TestStress(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d (the interleaving is the machine's)", seed)
	server := memlock.NewServer()
	names := []string{"a", "b", "c"}
	witnesses := make(map[string]*witness)
	for _, name := range names {
		witnesses[name] = &witness{t: t}
	}
	var running sync.WaitGroup
	for i := range 16 {
		st := server.Connect()
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		running.Go(func() {
			defer st.Close()
			for range 300 {
				r := ask(names[random.IntN(3)], driver.Mode(1+random.IntN(3)), lasting(time.Hour), reserving(random.Uint32N(3)))
				if r.Mode == driver.Permits {
					r.N, r.Limit = 1+random.IntN(3), 3
				}
				r.NoWait = random.IntN(5) == 0
				stressOnce(t, st, r, random, witnesses[r.Name])
			}
		})
	}
	running.Wait()
	if remains := server.Remains(); remains != "" {
		t.Errorf("left behind: %s", remains)
	}
}

// stressOnce is one attempt, as the core would make it: what has no answer is undone.
func stressOnce(t *testing.T, st *memlock.Store, r *driver.Request, random *rand.Rand, w *witness) {
	ctx, cancel := context.WithTimeout(background, time.Duration(random.IntN(2000))*time.Microsecond)
	defer cancel()
	grant, err := st.Acquire(ctx, r)
	if err == nil {
		w.inside(r, grant)
		if random.IntN(3) == 0 {
			if _, err := grant.Lease.Renew(background, time.Hour); err != nil {
				t.Errorf("Renew: %v", err)
			}
		}
	} else if driver.Answered(err) {
		var held *driver.Held
		if !errors.As(err, &held) {
			t.Errorf("Acquire: %v", err)
		}
		return
	} else if ctx.Err() == nil {
		t.Errorf("Acquire: %v", err)
	}
	if released := st.Release(background, r); err == nil && released != nil {
		t.Errorf("Release: %v", released)
	} else if errors.Is(released, driver.ErrGone) {
		// The context had ended before the server was asked: a tombstone is left. Take it away, to see that nothing else is left.
		st.Server().Exhume(r)
	} else if released != nil {
		t.Errorf("Release: %v", released)
	}
}

// TestStressExpiry lets holds run out beside renewals and releases: every hold ends by exactly one of release and loss.
func TestStressExpiry(t *testing.T) {
	server := memlock.NewServer()
	var running sync.WaitGroup
	for i := range 8 {
		st := server.Connect()
		running.Go(func() {
			for range 60 {
				var lost atomic.Int64
				gone := make(chan struct{})
				r := ask(fmt.Sprint(i/4), driver.Exclusive, lasting(2*time.Millisecond), losing(func(error) {
					if lost.Add(1) == 1 {
						close(gone)
					}
				}))
				grant, err := st.Acquire(background, r)
				if err != nil {
					t.Errorf("Acquire: %v", err)
					return
				}
				for range 3 {
					time.Sleep(time.Millisecond)
					if _, err := grant.Lease.Renew(background, 2*time.Millisecond); err != nil {
						break
					}
				}
				if err := st.Release(background, r); err == nil {
					if lost.Load() != 0 {
						t.Error("released, but also reported lost")
					}
					continue
				} else if !errors.Is(err, driver.ErrGone) {
					t.Errorf("Release: %v", err)
				}
				<-gone // it is told, in the end
			}
		})
	}
	running.Wait()
	for server.Remains() != "" { // tombstones of those that had run out
		time.Sleep(time.Millisecond)
	}
}

// TestStressUndo lets Release run beside the Acquire that it undoes: whoever is first, afterwards it neither waits nor holds.
func TestStressUndo(t *testing.T) {
	st := memlock.New()
	for range 2000 {
		r := ask("x", driver.Exclusive, lasting(time.Hour))
		done := make(chan error)
		go func() {
			_, err := st.Acquire(background, r)
			done <- err
		}()
		released := st.Release(background, r)
		switch err := <-done; {
		case err == nil && released == nil: // granted, then released
		case errors.Is(err, driver.ErrGone) && errors.Is(released, driver.ErrGone): // undone before it was asked for
		default:
			t.Fatalf("Acquire: %v, Release: %v", err, released)
		}
		if holders := look(t, st, "x", driver.Exclusive).Holders; len(holders) > 0 {
			t.Fatalf("it still holds: %+v", holders)
		}
	}
}
