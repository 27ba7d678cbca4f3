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

// kept is whether a lock is still taken, by nobody, because of its minimum hold.
func kept(t *testing.T, l holdfast.Locker) bool {
	t.Helper()
	hold, err := l.TryLock(t.Context())
	if err != nil {
		expect(t, err, holdfast.ErrHeld, "nobody", "minimum hold")
		return true
	}
	expectNil(t, hold.Undo())
	return false
}

func expectNil(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Rule of ownership 6: a minimum hold does not count after Undo, whatever kind of lock it is, and counts after Unlock.
func TestHoldUndoTakesMinHoldAway(t *testing.T) {
	least := holdfast.MinHold(time.Hour)
	for name, locker := range map[string]func(*holdfast.Client) holdfast.Locker{
		"mutex":   func(c *holdfast.Client) holdfast.Locker { return c.Mutex("a", least) },
		"writer":  func(c *holdfast.Client) holdfast.Locker { return c.RWMutex("a", least) },
		"reader":  func(c *holdfast.Client) holdfast.Locker { return c.RWMutex("a", least).Reader() },
		"permits": func(c *holdfast.Client) holdfast.Locker { return c.Semaphore("a", 2, least).Permits(2) },
		"multi": func(c *holdfast.Client) holdfast.Locker {
			return holdfast.Multi(c.Mutex("b", least), c.Semaphore("a", 1, least).Permits(1), c.RWMutex("a", least).Reader())
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := memlock.NewServer()
				l := locker(connect(t, server))
				expectNil(t, mustLock(t, l).Undo())
				free(t, server)
				mustUnlock(t, mustLock(t, l))
				// Readers are let in beside the minimum hold of a reader, so a writer is asked.
				other := connect(t, server)
				if !kept(t, other.Mutex("a")) && !kept(t, other.Semaphore("a", 2).Permits(2)) && !kept(t, other.Semaphore("a", 1).Permits(1)) {
					t.Error("Unlock took the minimum hold away too: this test shows nothing")
				}
			})
		})
	}
}

// Rule of ownership 6: of a lock that was re-entered nothing is taken away by the inner hold, because somebody ran under the outer one;
// and not by the outer one before the inner has ended.
func TestHoldUndoOfANestedHold(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(outer, inner *holdfast.Hold) []error
		kept bool
	}{
		"inner undone, outer unlocked": {func(o, i *holdfast.Hold) []error { return []error{i.Undo(), o.Unlock()} }, true},
		"outer unlocked, inner undone": {func(o, i *holdfast.Hold) []error { return []error{o.Unlock(), i.Undo()} }, true},
		"outer undone, inner unlocked": {func(o, i *holdfast.Hold) []error { return []error{o.Undo(), i.Unlock()} }, true},
		"both undone":                  {func(o, i *holdfast.Hold) []error { return []error{i.Undo(), o.Undo()} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := memlock.NewServer()
				m := connect(t, server).Mutex("a", holdfast.MinHold(time.Hour))
				outer := mustLock(t, m)
				inner := mustLockIn(outer.Context(t.Context()), t, m)
				if outer.Count() != 2 {
					t.Fatalf("entered %d times, want 2", outer.Count())
				}
				for _, err := range c.end(outer, inner) {
					expectNil(t, err)
				}
				if got := kept(t, connect(t, server).Mutex("a")); got != c.kept {
					t.Errorf("kept: %v, want %v", got, c.kept)
				}
			})
		})
	}
}

// Rule: a hold ends once. What comes second, Undo or Unlock, does nothing and says ErrReleased; also for a Multi.
func TestHoldUndoTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		c := s.open(t)
		for _, l := range []holdfast.Locker{c.Mutex("a", holdfast.MinHold(time.Minute)), holdfast.Multi(c.Mutex("a"), c.Mutex("b"))} {
			hold := mustLock(t, l)
			expectNil(t, hold.Undo())
			expect(t, hold.Err(), holdfast.ErrReleased)
			n := len(s.asked("release"))
			expect(t, hold.Undo(), holdfast.ErrReleased)
			expect(t, hold.Unlock(), holdfast.ErrReleased)
			hold = mustLock(t, l)
			mustUnlock(t, hold)
			m := len(s.asked("release"))
			expect(t, hold.Undo(), holdfast.ErrReleased)
			if got := len(s.asked("release")); got != m || m != 2*n {
				t.Errorf("the store was asked %d, %d and %d times to release; want the second calls to ask nothing", n, m, got)
			}
			s.change(func() { s.calls = nil })
		}
		if s.held() != 0 {
			t.Errorf("the store still has %d holds", s.held())
		}
	})
}

// Rule: Undo of a hold that was lost says so, as Unlock does; what it would undo is over.
func TestHoldUndoAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.renew = func(context.Context, *scriptLease, time.Duration, int) (time.Duration, error) {
			return 0, driver.ErrGone
		}
		hold := mustLock(t, s.open(t).Mutex("a"))
		<-hold.Context(t.Context()).Done()
		expectLost(t, hold.Undo(), holdfast.ReasonTaken)
		expectLost(t, hold.Undo(), holdfast.ReasonTaken)
		expectLost(t, hold.Unlock(), holdfast.ReasonTaken)

		s.change(func() {
			s.renew = nil
			s.release = func(context.Context, *driver.Request, int) error { return driver.ErrGone }
		})
		hold = mustLock(t, s.open(t).Mutex("b"))
		expectLost(t, hold.Undo(), holdfast.ReasonTaken) // nobody knew before
	})
}
