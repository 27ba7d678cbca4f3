package holdfast_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// cancelled locks until the context ends after a second, on a store that has granted but whose answer got lost.
func cancelled(t *testing.T, s *script, opts ...holdfast.Option) {
	t.Helper()
	s.acquire = func(ctx context.Context, r *driver.Request, _ int) (*driver.Grant, error) {
		s.grant(r, s.clock.Now())
		return nil, hang(ctx)
	}
	wait, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := s.open(t).Mutex("a", opts...).Lock(wait)
	expect(t, err, context.DeadlineExceeded)
}

// Rule of ownership 2: what may have reached the store is undone on a context of its own. The caller's has ended.
func TestUndoHasAContextOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		cancelled(t, s)
		undone := s.asked("release")
		if len(undone) != 1 {
			t.Fatalf("undone %d times, want once", len(undone))
		}
		if undone[0].ended != nil {
			t.Errorf("undone on a context that had ended: %v", undone[0].ended)
		}
		if !undone[0].deadline {
			t.Error("undone on a context without a deadline: a lost answer would be waited for for ever")
		}
		if s.held() != 0 {
			t.Error("the store still has the hold")
		}
	})
}

// Rule of the driver contract R4: undoing takes MinHold away too (nobody ran under it), unlocking does not.
func TestUndoDropsKeepAndUnlockKeepsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		cancelled(t, s, holdfast.MinHold(time.Minute))
		s.acquire = nil
		mustUnlock(t, mustLock(t, s.open(t).Mutex("a", holdfast.MinHold(time.Minute))))
		releases := s.asked("release")
		if releases[0].keep != 0 {
			t.Errorf("the undo keeps the lock for %v", releases[0].keep)
		}
		if releases[1].keep != time.Minute {
			t.Errorf("Unlock keeps the lock for %v, want 1m", releases[1].keep)
		}
		if asks := s.asked("acquire"); asks[0].keep != time.Minute || asks[1].keep != time.Minute {
			t.Errorf("the grants were asked for with %v and %v, want 1m", asks[0].keep, asks[1].keep)
		}
	})
}

// Rule of time 5: a cancelled Lock waits at most a second for its cleanup, then leaves it to the background, which repeats it until
// the store answers.
func TestUndoGoesOnInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.release = func(ctx context.Context, r *driver.Request, ask int) error {
			if time.Duration(s.clock.Now()) < 6*time.Second {
				return hang(ctx)
			}
			return s.free(r)
		}
		begun := time.Now()
		cancelled(t, s)
		took(t, "Lock, with a second of cleanup", begun, 2*time.Second)
		if s.held() != 1 {
			t.Fatal("the store is not the one of the test")
		}
		time.Sleep(8 * time.Second)
		if s.held() != 0 {
			t.Errorf("the store still has the hold, after %d releases", len(s.asked("release")))
		}
		n := len(s.asked("release"))
		time.Sleep(time.Minute)
		if len(s.asked("release")) != n {
			t.Error("the store was told again, though it had answered")
		}
		for i, r := range s.asked("release") {
			if r.ended != nil {
				t.Errorf("release %d came on a context that had ended", i+1)
			}
		}
	})
}

// Rule of ownership 2: it is repeated until the TTL has certainly run out, and no longer.
func TestUndoEndsWithTheTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.release = func(context.Context, *driver.Request, int) error { return errCut }
		cancelled(t, s) // after 1 s; what it may have left runs out 10 s later, and the margin
		time.Sleep(time.Hour)
		releases := s.asked("release")
		last := releases[len(releases)-1].at
		if low, high := 10*time.Second, 12*time.Second; last < low || last > high { // the pauses in between are up to a second
			t.Errorf("the last release came at %v, want between %v and %v", last, low, high)
		}
	})
}

// Rule of ownership 2: on a store with sessions what was left behind lives as long as the session, whatever the lock's TTL.
func TestUndoEndsWithTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript().withSession(time.Minute)
		s.release = func(_ context.Context, r *driver.Request, _ int) error {
			if time.Duration(s.clock.Now()) < 50*time.Second {
				return errCut
			}
			return s.free(r)
		}
		cancelled(t, s)
		time.Sleep(2 * time.Minute)
		if s.held() != 0 {
			t.Error("given up before the session was over")
		}
	})
}

// Rule of the driver contract: with a store where nothing runs out it is repeated until Close.
func TestUndoWithoutTTLGoesOnUntilClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript().withoutTTL()
		s.release = func(_ context.Context, r *driver.Request, _ int) error {
			if time.Duration(s.clock.Now()) < time.Hour {
				return errCut
			}
			return s.free(r)
		}
		cancelled(t, s)
		time.Sleep(2 * time.Hour)
		if s.held() != 0 {
			t.Error("given up, though nothing else would ever free the lock")
		}
		releases := s.asked("release")
		for i, r := range releases {
			if i > 0 && r.at-releases[i-1].at > time.Second {
				t.Fatalf("release %d came more than a second after the one before", i+1)
			}
		}
	})
}

// Rule of ownership 2: a wait that ends leaves nothing behind, also if its grant crosses its cancellation: a grant in hand is a hold.
func TestGrantThatCrossesTheCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		wait, cancel := context.WithCancel(t.Context())
		s.acquire = func(_ context.Context, r *driver.Request, _ int) (*driver.Grant, error) {
			asked := s.clock.Now()
			cancel()
			return s.grant(r, asked), nil
		}
		hold, err := s.open(t).Mutex("a").Lock(wait)
		if err != nil {
			t.Fatalf("a grant in hand was thrown away: %v", err)
		}
		if hold.Err() != nil {
			t.Error(hold.Err())
		}
		mustUnlock(t, hold)
		if s.held() != 0 || len(s.asked("release")) != 1 {
			t.Errorf("left %d behind after %d releases", s.held(), len(s.asked("release")))
		}
	})
}
