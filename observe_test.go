package holdfast_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// Rule: the life of a lock, as an Observer sees it, with durations.
func TestEventsOfALife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, diary := memlock.NewServer(), new(diary)
		other := mustLock(t, connect(t, server, holdfast.Label("other")).Mutex("a"))
		time.AfterFunc(1500*time.Millisecond, func() { mustUnlock(t, other) })
		m := connect(t, server, holdfast.WithObserver(diary), holdfast.Label("me")).Mutex("a")
		hold := mustLock(t, m)
		time.Sleep(4 * time.Second)
		inner := mustLockIn(hold.Context(t.Context()), t, m)
		mustUnlock(t, inner)
		mustUnlock(t, hold)
		if got, want := diary.kinds(), "waiting waiting acquired renewed acquired released released"; got != want {
			t.Fatalf("events: %s\nwant:   %s", got, want)
		}
		waiting := diary.of(holdfast.EventWaiting)
		for i, e := range waiting { // at once, and about every second
			if e.Waited != time.Duration(i)*time.Second || e.Progress.Place != 1 || len(e.Progress.Holders) != 1 || e.Progress.Holders[0].Token != other.Token() {
				t.Errorf("waiting %d: %+v", i, e)
			}
		}
		acquired := diary.of(holdfast.EventAcquired)
		if e := acquired[0]; e.Waited != 1500*time.Millisecond || e.Left != 9900*time.Millisecond || e.Count != 1 || e.Token != hold.Token() {
			t.Errorf("acquired: %+v", e)
		}
		if e := acquired[1]; e.Waited != 0 || e.Count != 2 || e.Token != hold.Token() {
			t.Errorf("acquired again: %+v", e)
		}
		if e := diary.of(holdfast.EventRenewed)[0]; e.Held < 10*time.Second/3*8/10 || e.Held > 10*time.Second/3 || e.Left != 9900*time.Millisecond {
			t.Errorf("renewed: %+v", e)
		}
		released := diary.of(holdfast.EventReleased)
		if released[0].Count != 1 || released[1].Count != 0 || released[1].Held != 4*time.Second || released[1].Err != nil {
			t.Errorf("released: %+v", released)
		}
		for _, e := range diary.of(holdfast.EventWaiting, holdfast.EventAcquired, holdfast.EventRenewed, holdfast.EventReleased) {
			if e.Store != "mem://" || e.Name != "a" || len(e.Label) < 4 || e.Label[len(e.Label)-3:] != " me" {
				t.Errorf("%s: store %q, name %q, label %q", e.Kind, e.Store, e.Name, e.Label)
			}
		}
	})
}

// Rule: a wait that was given up is no retry: it waited, was undone, and failed.
func TestEventsOfACancelledWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, diary := memlock.NewServer(), new(diary)
		mustLock(t, connect(t, server).Mutex("a"))
		wait, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_, err := connect(t, server, holdfast.WithObserver(diary)).Mutex("a").Lock(wait)
		if got, want := diary.kinds(), "waiting undone failed"; got != want {
			t.Fatalf("events: %s\nwant:   %s", got, want)
		}
		if e := diary.of(holdfast.EventFailed)[0]; e.Waited != 500*time.Millisecond || e.Err != err || e.Token != 0 {
			t.Errorf("failed: %+v", e)
		}
	})
}

// Rule: what the store's silence costs can be seen: retries and undoing take the time that they take.
func TestEventsOfASilentStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, diary := newScript(), new(diary)
		s.acquire = func(context.Context, *driver.Request, int) (*driver.Grant, error) {
			time.Sleep(300 * time.Millisecond)
			return nil, errCut
		}
		s.release = func(context.Context, *driver.Request, int) error {
			time.Sleep(200 * time.Millisecond)
			return nil
		}
		begun := time.Now()
		s.open(t, holdfast.WithObserver(diary)).Mutex("a").TryLock(t.Context())
		if got, want := diary.kinds(), "retried retried undone failed"; got != want {
			t.Fatalf("events: %s\nwant:   %s", got, want)
		}
		for _, e := range diary.of(holdfast.EventRetried) {
			if e.Took != 300*time.Millisecond || !errors.Is(e.Err, errCut) {
				t.Errorf("retried: %+v", e)
			}
		}
		if e := diary.of(holdfast.EventUndone)[0]; e.Took != 200*time.Millisecond || e.Err != nil {
			t.Errorf("undone: %+v", e)
		}
		if e := diary.of(holdfast.EventFailed)[0]; e.Waited != time.Since(begun) {
			t.Errorf("failed: %+v", e)
		}
	})
}

// Rule: an undoing that the store does not confirm is told with its error.
func TestEventOfAnUndoingWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, diary := newScript(), new(diary)
		s.acquire = func(context.Context, *driver.Request, int) (*driver.Grant, error) { return nil, errCut }
		s.release = func(ctx context.Context, _ *driver.Request, _ int) error { return hang(ctx) }
		s.open(t, holdfast.WithObserver(diary)).Mutex("a").TryLock(t.Context())
		if e := diary.of(holdfast.EventUndone)[0]; e.Took != time.Second || e.Err == nil {
			t.Errorf("undone: %+v", e)
		}
	})
}

// Rule: renewals that fail, and the loss that follows, are told with what is left; Unlock tells of the loss.
func TestEventsOfALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, diary := newScript(), new(diary)
		s.renew = func(context.Context, *scriptLease, time.Duration, int) (time.Duration, error) {
			time.Sleep(100 * time.Millisecond)
			return 0, errCut
		}
		hold := mustLock(t, s.open(t, holdfast.WithObserver(diary)).Mutex("a"))
		time.Sleep(10 * time.Second)
		err := hold.Unlock()
		for _, e := range diary.of(holdfast.EventUnrenewed) {
			if e.Took != 100*time.Millisecond || e.Held+e.Left != 9900*time.Millisecond || !errors.Is(e.Err, errCut) {
				t.Errorf("unrenewed: %+v", e)
			}
		}
		synctest.Wait() // the observer is told apart
		if e := diary.of(holdfast.EventLost); len(e) != 1 || e[0].Held != 9900*time.Millisecond || e[0].Left != 0 || e[0].Count != 1 {
			t.Errorf("lost: %+v", e)
		}
		if e := diary.of(holdfast.EventReleased); len(e) != 1 || e[0].Err != err || !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("released: %+v", e)
		}
	})
}

// Rule: an Observer may use the client: it is called with nothing held.
func TestObserverMayAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hold atomic.Pointer[holdfast.Hold]
		var locks *holdfast.Client
		diary := new(diary)
		locks = unrenewable().open(t, holdfast.WithObserver(holdfast.ObserverFunc(func(ctx context.Context, e holdfast.Event) {
			diary.Observe(ctx, e)
			if h := hold.Load(); h != nil {
				h.Left()
				h.Err()
				locks.Held(h.Context(context.Background()), "a")
			}
		})))
		h := mustLock(t, locks.Mutex("a", holdfast.Grace(time.Second)))
		hold.Store(h)
		time.Sleep(time.Minute)
		h.Unlock()
		if len(diary.of(holdfast.EventUnrenewed)) == 0 || len(diary.of(holdfast.EventLost, holdfast.EventReleased)) != 2 {
			t.Errorf("events: %s", diary.kinds())
		}
	})
}

// Rule of time 4: contexts end at the deadline at the latest, also while an observer takes its time about somebody else's loss.
func TestSlowObserverDelaysNoContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.renew = func(ctx context.Context, _ *scriptLease, _ time.Duration, _ int) (time.Duration, error) {
			return 0, hang(ctx)
		}
		slow := holdfast.ObserverFunc(func(_ context.Context, e holdfast.Event) {
			if e.Kind == holdfast.EventLost {
				time.Sleep(time.Minute)
			}
		})
		locks := s.open(t, holdfast.WithObserver(slow))
		begun := time.Now()
		var contexts []context.Context
		for i := range 10 {
			hold := mustLock(t, locks.Mutex(strconv.Itoa(i)))
			contexts = append(contexts, hold.Context(t.Context()))
		}
		for _, ctx := range contexts {
			<-ctx.Done()
		}
		took(t, "the end of all contexts", begun, 10*time.Second-driver.Margin(10*time.Second))
		time.Sleep(time.Hour) // let the observers finish
	})
}

// Bad input: an observer that is nil, in either way, is refused.
func TestNilObserver(t *testing.T) {
	for _, o := range []holdfast.Observer{nil, holdfast.ObserverFunc(nil)} {
		_, err := newScript().open(t, holdfast.WithObserver(o)).Mutex("a").Lock(t.Context())
		expect(t, err, holdfast.ErrArgument, "observer is nil")
	}
}
