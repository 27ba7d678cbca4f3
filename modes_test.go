package holdfast_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// Rule (Event.Mode): every event says what it is about, from waiting to the end: a lock, held alone or shared, or a semaphore.
func TestEventsTellTheMode(t *testing.T) {
	for mode, locker := range map[holdfast.Mode]func(*holdfast.Client) holdfast.Locker{
		holdfast.Exclusive: func(c *holdfast.Client) holdfast.Locker { return c.RWMutex("a") },
		holdfast.Shared:    func(c *holdfast.Client) holdfast.Locker { return c.RWMutex("a").Reader() },
		holdfast.Permits:   func(c *holdfast.Client) holdfast.Locker { return c.Semaphore("a", 2).Permits(2) },
	} {
		t.Run(mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, diary := memlock.NewServer(), new(diary)
				other := connect(t, server)
				blockers := holdfast.Multi(other.Mutex("a"), other.Semaphore("a", 2).Permits(1))
				blocker := mustLock(t, blockers)
				locks := connect(t, server, holdfast.WithObserver(diary))
				_, err := locker(locks).TryLock(t.Context())
				expect(t, err, holdfast.ErrHeld)
				time.AfterFunc(time.Second, func() { mustUnlock(t, blocker) })
				hold := mustLock(t, locker(locks))
				time.Sleep(5 * time.Second) // renewed
				breaking := locks.Break
				if mode == holdfast.Permits {
					breaking = func(ctx context.Context, _ string, token uint64, opts ...holdfast.BreakOption) error {
						return locks.Semaphore("a", 2).Break(ctx, token, opts...)
					}
				}
				if err := breaking(t.Context(), "a", hold.Token()); err != nil {
					t.Fatal(err)
				}
				hold.Unlock()
				synctest.Wait()
				seen := make(map[holdfast.Kind]int)
				for _, e := range diary.events {
					seen[e.Kind]++
					want := mode
					if e.Kind == holdfast.EventBreaking && mode == holdfast.Shared {
						want = holdfast.Exclusive // who breaks a lock does not say who holds it
					}
					if e.Mode != want || e.Name != "a" {
						t.Errorf("%s: mode %v, want %v", e.Kind, e.Mode, want)
					}
				}
				for _, k := range []holdfast.Kind{
					holdfast.EventFailed, holdfast.EventWaiting, holdfast.EventAcquired, holdfast.EventRenewed, holdfast.EventBreaking,
					holdfast.EventLost, holdfast.EventReleased,
				} {
					if seen[k] == 0 {
						t.Errorf("no event %s", k)
					}
				}
			})
		})
	}
}

// Rule (Event.Mode): so do those of a store that gives no answer.
func TestEventsOfSilenceTellTheMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, diary := newScript(), new(diary)
		s.promises.Permits = true
		s.acquire = func(_ context.Context, r *driver.Request, ask int) (*driver.Grant, error) {
			if ask <= 3 {
				return nil, errCut
			}
			return s.grant(r, s.clock.Now()), nil
		}
		s.renew = func(context.Context, *scriptLease, time.Duration, int) (time.Duration, error) { return 0, errCut }
		sem := s.open(t, holdfast.WithObserver(diary)).Semaphore("a", 3)
		sem.TryAcquire(t.Context(), 2)
		mustLock(t, sem.Permits(2))
		time.Sleep(time.Minute)
		kinds := []holdfast.Kind{holdfast.EventRetried, holdfast.EventUndone, holdfast.EventFailed, holdfast.EventUnrenewed, holdfast.EventLost}
		for _, k := range kinds {
			events := diary.of(k)
			if len(events) == 0 {
				t.Errorf("no event %s", k)
			}
			for _, e := range events {
				if e.Mode != holdfast.Permits {
					t.Errorf("%s: mode %v", e.Kind, e.Mode)
				}
			}
		}
	})
}

// Rule: a Multi is told part by part; one that fails undoes what it had, and that is told too.
func TestEventsOfAMulti(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, diary := memlock.NewServer(), new(diary)
		locks := connect(t, server, holdfast.WithObserver(diary))
		m := holdfast.Multi(locks.Mutex("b"), locks.RWMutex("a").Reader())
		mustUnlock(t, mustLock(t, m))
		b := mustLock(t, connect(t, server).Mutex("b"))
		_, err := m.TryLock(t.Context())
		expect(t, err, holdfast.ErrHeld)
		mustUnlock(t, b)
		acquired := diary.of(holdfast.EventAcquired)
		if len(acquired) != 3 || acquired[0].Name != "a" || acquired[0].Mode != holdfast.Shared || acquired[1].Name != "b" || acquired[2].Name != "a" {
			t.Errorf("acquired: %+v", acquired)
		}
		if failed := diary.of(holdfast.EventFailed); len(failed) != 1 || failed[0].Name != "b" {
			t.Errorf("failed: %+v", failed)
		}
		ends := diary.of(holdfast.EventReleased, holdfast.EventUndone)
		if len(ends) != 3 || ends[0].Name != "b" || ends[1].Name != "a" || ends[2].Name != "a" {
			t.Errorf("ended: %+v", ends)
		}
	})
}

// Rule (errors): what is told of permits says semaphore, and what is told of a lock says lock, held for reading or not.
func TestErrorsTellTheMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := connect(t, memlock.NewServer())
		for _, c := range []struct {
			mode   holdfast.Mode
			locker holdfast.Locker
			called string
		}{
			{holdfast.Exclusive, locks.Mutex("a", holdfast.Fixed()), `lock "a"`},
			{holdfast.Shared, locks.RWMutex("a", holdfast.Fixed()).Reader(), `lock "a"`},
			{holdfast.Permits, locks.Semaphore("a", 1, holdfast.Fixed()).Permits(1), `semaphore "a"`},
		} {
			hold := mustLock(t, c.locker)
			mustUnlock(t, hold)
			expect(t, hold.Err(), holdfast.ErrReleased, c.called)
			hold = mustLock(t, c.locker)
			time.Sleep(time.Minute)
			lost := expectLost(t, hold.Err(), holdfast.ReasonExpired)
			expect(t, lost, holdfast.ErrLost, c.called)
			if lost.Mode != c.mode || lost.Name != "a" || lost.Token != hold.Token() {
				t.Errorf("%+v, want mode %v", lost, c.mode)
			}
		}
		closed := connect(t, memlock.NewServer())
		hold := mustLock(t, closed.Semaphore("a", 1).Permits(1))
		closed.Close()
		expect(t, hold.Err(), holdfast.ErrClosed, `semaphore "a"`)
	})
}
