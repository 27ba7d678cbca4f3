package holdfast_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// free fails the test unless nobody holds, keeps or waits for any lock or semaphore of the store.
func free(t *testing.T, server *memlock.Server) {
	t.Helper()
	synctest.Wait() // what goes on in the background
	for info, err := range connect(t, server).List(t.Context(), "") {
		t.Errorf("left behind: %+v, %v", info, err)
	}
}

// Rule (Multi): TryLock takes all or none: the error is that of the first that was not free, and the others are undone.
func TestMultiTryLockUndoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		holder, locks := connect(t, server, holdfast.Label("holder")), connect(t, server)
		c, d := mustLock(t, holder.Mutex("c")), mustLock(t, holder.Mutex("d"))
		m := holdfast.Multi(locks.Mutex("d"), locks.Semaphore("b", 2).Permits(2), locks.Mutex("c"), locks.RWMutex("a").Reader())
		begun := time.Now()
		_, err := m.TryLock(t.Context())
		took(t, "TryLock", begun, 0)
		expect(t, err, holdfast.ErrHeld, `"c"`, "holder")
		mustUnlock(t, c)
		_, err = m.TryLock(t.Context())
		expect(t, err, holdfast.ErrHeld, `"d"`)
		mustUnlock(t, d)
		free(t, server)
		mustUnlock(t, mustTry(t.Context(), t, m))
		free(t, server)
	})
}

// Rule (Multi): ctx bounds the whole wait, not that for each part; when it fails it holds none.
func TestMultiWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		holder, locks := connect(t, server), connect(t, server)
		a, b := mustLock(t, holder.Mutex("a")), mustLock(t, holder.Mutex("b"))
		time.AfterFunc(3*time.Second, func() { mustUnlock(t, a) })
		wait, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		begun := time.Now()
		_, err := holdfast.Multi(locks.Mutex("a"), locks.Mutex("b")).Lock(wait)
		took(t, "the wait", begun, 5*time.Second)
		expect(t, err, holdfast.ErrHeld, `"b"`)
		expect(t, err, context.DeadlineExceeded)
		if errors.Is(err, holdfast.ErrLost) {
			t.Errorf("nothing was lost: %v", err)
		}
		mustUnlock(t, b)
		free(t, server)
	})
}

// Rule (Multi): the hold outlives the wait, of all parts.
func TestMultiOutlivesTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := connect(t, memlock.NewServer())
		wait, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		hold := mustLockIn(wait, t, holdfast.Multi(locks.Mutex("a"), locks.Mutex("b")))
		ctx := hold.Context(t.Context())
		time.Sleep(time.Hour)
		if hold.Err() != nil || ctx.Err() != nil {
			t.Errorf("%v, %v", hold.Err(), context.Cause(ctx))
		}
		mustUnlock(t, hold)
	})
}

// Rule of ownership 2: an unknown answer in the middle is asked again, and undone with all that came before if none comes.
func TestMultiUndoesUnknownAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.acquire = func(_ context.Context, r *driver.Request, _ int) (*driver.Grant, error) {
			g := s.grant(r, s.clock.Now())
			if r.Name == "b" {
				return nil, errCut // granted, but nobody was told
			}
			return g, nil
		}
		locks := s.open(t)
		m := holdfast.Multi(locks.Mutex("a"), locks.Mutex("b"), locks.Mutex("c"))
		_, err := m.TryLock(t.Context())
		expect(t, err, errCut, `"b"`)
		if s.held() != 0 {
			t.Errorf("%d left behind", s.held())
		}
		wait, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err = m.Lock(wait)
		expect(t, err, context.DeadlineExceeded, `"b"`)
		if s.held() != 0 {
			t.Errorf("%d left behind", s.held())
		}
		for _, a := range s.asked("acquire") {
			if a.name == "c" {
				t.Error("the third was asked for although the second was not held")
			}
		}
		order := ""
		for _, r := range s.asked("release") {
			order += r.name
		}
		if order != "baba" {
			t.Errorf("undone in the order %s", order)
		}
	})
}

// Rule of ownership 2, R4: parts that are undone leave no minimum hold behind, because nobody ran under them; Unlock does.
func TestMultiUndoesMinHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		locks := connect(t, server)
		b := mustLock(t, connect(t, server).Mutex("b"))
		m := holdfast.Multi(locks.Mutex("a", holdfast.MinHold(time.Hour)), locks.Mutex("b"))
		_, err := m.TryLock(t.Context())
		expect(t, err, holdfast.ErrHeld, `"b"`)
		mustUnlock(t, b)
		free(t, server)
		mustUnlock(t, mustTry(t.Context(), t, m))
		_, err = locks.Mutex("a").TryLock(t.Context())
		expect(t, err, holdfast.ErrHeld, "minimum hold")
	})
}

// Rule of ownership 2, R4: the minimum hold of a lock that is only re-entered counts all the same: somebody ran under that one.
func TestMultiUndoKeepsTheOuterMinHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		locks := connect(t, server)
		b := mustLock(t, connect(t, server).Mutex("b"))
		outer := mustLock(t, locks.Mutex("a", holdfast.MinHold(time.Hour)))
		_, err := holdfast.Multi(locks.Mutex("a"), locks.Mutex("b")).TryLock(outer.Context(t.Context()))
		expect(t, err, holdfast.ErrHeld, `"b"`)
		if outer.Err() != nil || outer.Count() != 1 {
			t.Errorf("the outer hold: %v, count %d", outer.Err(), outer.Count())
		}
		wait, cancel := context.WithTimeout(context.WithoutCancel(outer.Context(t.Context())), time.Minute)
		defer cancel()
		time.AfterFunc(time.Second, func() { mustUnlock(t, outer) }) // so that the part that is undone is the last to let go
		_, err = holdfast.Multi(locks.Mutex("a"), locks.Mutex("b")).Lock(wait)
		expect(t, err, context.DeadlineExceeded, `"b"`)
		mustUnlock(t, b)
		_, err = locks.Mutex("a").TryLock(t.Context())
		expect(t, err, holdfast.ErrHeld, "minimum hold")
	})
}

// Rule (Multi): a part that is lost while it waits for another ends the wait with ErrLost, at once, and nothing is held.
func TestMultiLosesAPartWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		holder, locks := connect(t, server), connect(t, server)
		b := mustLock(t, holder.Mutex("b"))
		begun := time.Now()
		_, err := holdfast.Multi(locks.Mutex("a", holdfast.Fixed()), locks.Mutex("b")).Lock(t.Context())
		took(t, "the wait", begun, 9900*time.Millisecond)
		if lost := expectLost(t, err, holdfast.ReasonExpired); lost.Name != "a" {
			t.Errorf("lost %q", lost.Name)
		}
		expect(t, err, holdfast.ErrLost, `while it waited for lock "b"`)
		if errors.Is(err, holdfast.ErrHeld) || errors.Is(err, context.Canceled) {
			t.Errorf("confused with something else: %v", err)
		}
		info, err := holder.Inspect(t.Context(), "b")
		if err != nil || len(info.Waiters) != 0 {
			t.Errorf("still waits: %+v, %v", info, err)
		}
		mustUnlock(t, b)
		free(t, server)
	})
}

// Rule (Multi): a part that is lost just as the last one is granted is noticed: a Multi is never returned with a loss.
func TestMultiLosesAPartAsTheLastIsGranted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		var first *driver.Request
		s.acquire = func(_ context.Context, r *driver.Request, ask int) (*driver.Grant, error) {
			if ask == 1 {
				first = r
			} else {
				first.Lost(driver.ErrGone)
			}
			return s.grant(r, s.clock.Now()), nil
		}
		locks := s.open(t)
		_, err := holdfast.Multi(locks.Mutex("a"), locks.Mutex("b")).Lock(t.Context())
		expectLost(t, err, holdfast.ReasonTaken)
		if n := len(s.asked("acquire")); n != 2 {
			t.Errorf("asked %d times", n)
		}
		synctest.Wait()
		if s.held() != 0 {
			t.Errorf("%d left behind", s.held())
		}
	})
}
