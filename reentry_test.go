package holdfast_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/memlock"
)

// Rule of ownership 3: Lock with a context that descends from a live hold's Context counts up instead of waiting: the same token, one
// hold in the store, which ends with the last Unlock.
func TestReentryNests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		locks := s.open(t)
		m := locks.Mutex("a")
		outer := mustLock(t, m)
		type key struct{}
		inner := mustLockIn(context.WithValue(outer.Context(t.Context()), key{}, 1), t, m) // a descendant does too
		innermost, err := m.TryLock(inner.Context(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range []*holdfast.Hold{outer, inner, innermost} {
			if h.Count() != 3 || h.Token() != outer.Token() || h.Left() != outer.Left() {
				t.Errorf("count %d, token %d, %v left", h.Count(), h.Token(), h.Left())
			}
		}
		mustUnlock(t, innermost)
		mustUnlock(t, inner)
		if outer.Count() != 1 || len(s.asked("release")) != 0 {
			t.Errorf("count %d, released %d times", outer.Count(), len(s.asked("release")))
		}
		mustUnlock(t, outer)
		if n := len(s.asked("acquire")); n != 1 || s.held() != 0 {
			t.Errorf("asked the store %d times, %d held", n, s.held())
		}
	})
}

// Rule of ownership 3: the store's hold ends with the last Unlock, in whatever order: the inner hold may outlive the outer.
func TestInnerHoldOutlivesTheOuter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		m := s.open(t).Mutex("a")
		outer := mustLock(t, m)
		inner := mustLockIn(outer.Context(t.Context()), t, m)
		ctx := inner.Context(t.Context())
		mustUnlock(t, outer)
		expect(t, outer.Err(), holdfast.ErrReleased)
		time.Sleep(time.Minute)
		if inner.Err() != nil || ctx.Err() != nil || inner.Count() != 1 || s.held() != 1 {
			t.Errorf("%v, %v, count %d, %d held", inner.Err(), ctx.Err(), inner.Count(), s.held())
		}
		again := mustLockIn(ctx, t, m) // and is re-entered as before
		mustUnlock(t, again)
		stranger := mustLockIn(context.WithoutCancel(outer.Context(t.Context())), t, m) // but the outer one is not
		if stranger.Token() == inner.Token() || inner.Count() != 1 {
			t.Errorf("token %d, count %d: re-entered an ended hold", stranger.Token(), inner.Count())
		}
		mustUnlock(t, stranger)
		mustUnlock(t, inner)
		if s.held() != 0 {
			t.Error("still held")
		}
	})
}

// Rule of ownership 3: a hold has at most one live child: siblings exclude each other, in turn.
func TestSiblingsExcludeEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newScript().open(t).Mutex("a", holdfast.Label("me"))
		outer := mustLock(t, m)
		ctx := outer.Context(t.Context())
		inside, most := make(chan struct{}, 100), 0
		done := make(chan struct{})
		for range 20 {
			go func() {
				defer func() { done <- struct{}{} }()
				h, err := m.Lock(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				inside <- struct{}{}
				most = max(most, len(inside)) // a race too, if two were inside
				time.Sleep(time.Second)
				<-inside
				mustUnlock(t, h)
			}()
		}
		time.Sleep(500 * time.Millisecond)
		_, err := m.TryLock(ctx)
		expect(t, err, holdfast.ErrHeld, "me")
		var held *holdfast.HeldError
		if !errors.As(err, &held) || len(held.Holders) != 1 || held.Holders[0].Token != outer.Token() || held.Holders[0].Held != 500*time.Millisecond {
			t.Errorf("got %+v", held)
		}
		begun := time.Now()
		wait, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		_, err = m.Lock(wait)
		took(t, "the wait", begun, 100*time.Millisecond)
		expect(t, err, holdfast.ErrHeld)
		expect(t, err, context.DeadlineExceeded)
		for range 20 {
			<-done
		}
		if most != 1 || outer.Count() != 1 {
			t.Errorf("%d siblings inside at once, count %d after all of them", most, outer.Count())
		}
		mustUnlock(t, outer)
	})
}

// Rule of ownership 3: a sibling that waits when the outer hold ends goes to the store, like everybody else.
func TestSiblingGoesToTheStoreWhenTheOuterEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		m := connect(t, server).Mutex("a")
		outer := mustLock(t, m)
		ctx := context.WithoutCancel(outer.Context(t.Context()))
		first := mustLockIn(ctx, t, m)
		granted := make(chan *holdfast.Hold)
		go func() { granted <- mustLockIn(ctx, t, m) }()
		synctest.Wait()
		mustUnlock(t, outer)
		synctest.Wait()
		select {
		case <-granted:
			t.Fatal("the sibling entered while the first child holds")
		default:
		}
		mustUnlock(t, first)
		second := <-granted
		if second.Token() <= first.Token() {
			t.Errorf("token %d after %d: not a hold of its own", second.Token(), first.Token())
		}
		mustUnlock(t, second)
	})
}

// Rule of ownership 3: it does so too if its sibling and the outer hold end in the same moment, whichever it hears of first.
func TestSiblingHearsOfBothEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := connect(t, memlock.NewServer()).Mutex("a")
		for range 100 {
			outer := mustLock(t, m)
			ctx := context.WithoutCancel(outer.Context(t.Context()))
			first := mustLockIn(ctx, t, m)
			granted := make(chan *holdfast.Hold)
			go func() { granted <- mustLockIn(ctx, t, m) }()
			synctest.Wait()
			mustUnlock(t, outer)
			mustUnlock(t, first)
			second := <-granted
			if second.Token() <= first.Token() || second.Count() != 1 {
				t.Fatalf("token %d after %d, count %d: re-entered an ended hold", second.Token(), first.Token(), second.Count())
			}
			mustUnlock(t, second)
		}
	})
}

// Rule of ownership 3: so does a sibling that waits when the outer hold is lost.
func TestSiblingGoesToTheStoreWhenTheOuterIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := unrenewable()
		m := s.open(t).Mutex("a")
		outer := mustLock(t, m)
		ctx := context.WithoutCancel(outer.Context(t.Context()))
		mustLockIn(ctx, t, m) // never unlocked
		begun := time.Now()
		second := mustLockIn(ctx, t, m)
		took(t, "the wait for the sibling", begun, 9900*time.Millisecond)
		if second.Token() == outer.Token() || second.Err() != nil {
			t.Errorf("token %d, %v", second.Token(), second.Err())
		}
		mustUnlock(t, second)
	})
}

// Rule of ownership 3: an ended hold's context never re-enters, whether it was unlocked or lost.
func TestEndedHoldIsNotReentered(t *testing.T) {
	for what, pause := range map[string]time.Duration{"unlocked": 0, "ending": 9 * time.Second, "lost": 10 * time.Second} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := unrenewable()
				m := s.open(t).Mutex("a", holdfast.Grace(time.Second))
				outer := mustLock(t, m)
				ctx := outer.Context(t.Context())
				if time.Sleep(pause); pause == 0 {
					mustUnlock(t, outer)
				}
				_, err := m.Lock(ctx) // it has ended with the hold
				expect(t, err, context.Canceled)
				again := mustLockIn(context.WithoutCancel(ctx), t, m)
				if again.Token() == outer.Token() || again.Count() != 1 || len(s.asked("acquire")) != 2 {
					t.Errorf("re-entered an ended hold: token %d, count %d", again.Token(), again.Count())
				}
				mustUnlock(t, again)
			})
		})
	}
}

// Rule of ownership 3: re-entry needs the same client and the same name; the context alone decides, not its cancellation.
func TestWhoIsAStranger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		one, two := connect(t, server), connect(t, server)
		outer := mustLock(t, one.Mutex("a"))
		ctx := outer.Context(t.Context())
		_, err := two.Mutex("a").TryLock(ctx)
		expect(t, err, holdfast.ErrHeld)
		_, err = one.Mutex("a").TryLock(t.Context())
		expect(t, err, holdfast.ErrHeld)
		other := mustLockIn(ctx, t, one.Mutex("b"))
		if other.Count() != 1 || other.Token() == outer.Token() {
			t.Errorf("another name: count %d, token %d", other.Count(), other.Token())
		}
		// Through the context of another lock's hold, and without its cancellation, the first one is still found.
		inner, err := one.Mutex("a").TryLock(context.WithoutCancel(other.Context(ctx)))
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range []*holdfast.Hold{inner, other, outer} {
			mustUnlock(t, h)
		}
	})
}

// Rule of time 4: losing the lock is losing it for all its holds.
func TestLossEndsAllNestedHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, diary := unrenewable(), new(diary)
		m := s.open(t, holdfast.WithObserver(diary)).Mutex("a")
		outer := mustLock(t, m)
		inner := mustLockIn(outer.Context(t.Context()), t, m)
		ctx := inner.Context(context.Background())
		<-ctx.Done()
		expectLost(t, context.Cause(ctx), holdfast.ReasonExpired)
		expectLost(t, inner.Unlock(), holdfast.ReasonExpired)
		expectLost(t, outer.Unlock(), holdfast.ReasonExpired)
		synctest.Wait() // the observer is told apart
		if n := len(diary.of(holdfast.EventLost)); n != 1 {
			t.Errorf("%d events of loss, want one", n)
		}
	})
}

// Rule: a nested hold keeps the TTL and MaxHold of the outermost; the longest Grace counts, as far as the store's word reaches.
func TestNestedOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := unrenewable().open(t)
		outer := mustLock(t, locks.Mutex("a", holdfast.Grace(time.Second)))
		ctx, begun := outer.Context(t.Context()), time.Now()
		inner := mustLockIn(ctx, t, locks.Mutex("a", holdfast.TTL(time.Hour), holdfast.MaxHold(time.Hour), holdfast.Grace(30*time.Minute)))
		if inner.Left() != 9900*time.Millisecond {
			t.Errorf("%v left", inner.Left())
		}
		<-ctx.Done()
		took(t, "the context", begun, 4900*time.Millisecond) // half of what the store grants at a time, at most
	})
	synctest.Test(t, func(t *testing.T) {
		locks := newScript().withSession(2 * time.Second).open(t)
		outer := mustLock(t, locks.Mutex("a"))
		inner := mustLockIn(outer.Context(t.Context()), t, locks.Mutex("a", holdfast.Grace(5*time.Second)))
		time.Sleep(time.Minute)
		if inner.Err() != nil {
			t.Errorf("a healthy session, and a long Grace: %v", inner.Err())
		}
		mustUnlock(t, inner)
		mustUnlock(t, outer)
	})
}

// Rule of ownership 3: the context of a hold that has ended does not re-enter it, but it still descends from the live hold around it.
func TestContextOfEndedInnerHoldNestsInTheOuter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		locks := s.open(t)
		m := locks.Mutex("a")
		outer := mustLock(t, m)
		inner := mustLockIn(outer.Context(t.Context()), t, m)
		ctx := context.WithoutCancel(inner.Context(outer.Context(t.Context())))
		mustUnlock(t, inner)
		if h, ok := locks.Held(ctx, "a"); !ok || h != outer {
			t.Errorf("Held: %v, %v", h, ok)
		}
		mustUnlock(t, mustLockIn(ctx, t, m))
		if n := len(s.asked("acquire")); n != 1 {
			t.Errorf("asked the store %d times", n)
		}
		mustUnlock(t, outer)
		if h, ok := locks.Held(ctx, "a"); ok || h != nil {
			t.Errorf("Held after both have ended: %v, %v", h, ok)
		}
	})
}

// Rule (errors): a sibling whose wait ends with the outer hold was in the way of nobody but its own family; the store is not to blame.
func TestSiblingWaitEndsWithTheOuterHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newScript().open(t).Mutex("a")
		outer := mustLock(t, m)
		ctx := outer.Context(t.Context())
		inner := mustLockIn(ctx, t, m)
		time.AfterFunc(time.Second, func() { outer.Unlock() })
		_, err := m.Lock(ctx)
		expect(t, err, holdfast.ErrHeld)
		expect(t, err, context.Canceled)
		var problem *holdfast.StoreError
		if errors.As(err, &problem) {
			t.Errorf("the store is blamed: %v", err)
		}
		mustUnlock(t, inner)
	})
}
