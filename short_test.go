package holdfast_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// A pushing is a store that grants as one does that hands locks over by a message: shortly, until the grant is confirmed by a renewal, and
// counted from a moment that may be long past.
type pushing struct {
	*memlock.Store
	grants     time.Duration // how long a grant is valid
	age        time.Duration // since when it is counted
	defaultTTL time.Duration

	mu       sync.Mutex
	attempts []driver.Attempt // as they were asked for
	renewed  []time.Duration  // when, since the store was made
	renew    func(ctx context.Context, renewal int) error
	begun    time.Time
}

func newPushing(grants time.Duration) *pushing {
	return &pushing{Store: memlock.New(), grants: grants, begun: time.Now()}
}

func (s *pushing) open(t *testing.T, opts ...holdfast.OpenOption) *holdfast.Client {
	c := holdfast.New(s, opts...)
	t.Cleanup(func() { c.Close() })
	return c
}

func (s *pushing) DefaultTTL() time.Duration { return s.defaultTTL }

func (s *pushing) Acquire(ctx context.Context, r *driver.Request) (*driver.Grant, error) {
	s.mu.Lock()
	s.attempts = append(s.attempts, r.Attempt)
	s.mu.Unlock()
	short := *r
	short.TTL = s.grants
	grant, err := s.Store.Acquire(ctx, &short)
	if err == nil {
		grant.Asked = grant.Asked.Add(-s.age)
		grant.Lease = pushedLease{s, grant.Lease}
	}
	return grant, err
}

type pushedLease struct {
	s *pushing
	driver.Lease
}

func (l pushedLease) Renew(ctx context.Context, ttl time.Duration) (time.Duration, error) {
	l.s.mu.Lock()
	l.s.renewed = append(l.s.renewed, time.Since(l.s.begun))
	renewal, renew := len(l.s.renewed), l.s.renew
	l.s.mu.Unlock()
	if renew != nil {
		if err := renew(ctx, renewal); err != nil {
			return 0, err
		}
	}
	return l.Lease.Renew(ctx, ttl)
}

func (s *pushing) renewals() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.renewed)
}

func (s *pushing) asked() []driver.Attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.attempts)
}

// fail makes all further renewals fail.
func (s *pushing) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.renew = func(context.Context, int) error { return err }
}

// Rule (Defaulter): the store's TTL counts where the program names none, neither to the client nor to the lock.
func TestDefaultTTLOfTheStore(t *testing.T) {
	for _, c := range []struct {
		name  string
		store time.Duration
		open  []holdfast.OpenOption
		lock  []holdfast.Option
		left  time.Duration
	}{
		{"the store's", 40 * time.Second, nil, nil, 39600 * time.Millisecond},
		{"the client's", 40 * time.Second, []holdfast.OpenOption{holdfast.TTL(20 * time.Second)}, nil, 19800 * time.Millisecond},
		{"the client's, though it is the default", 40 * time.Second, []holdfast.OpenOption{holdfast.TTL(10 * time.Second)}, nil, 9900 * time.Millisecond},
		{"the lock's", 40 * time.Second, nil, []holdfast.Option{holdfast.TTL(30 * time.Second)}, 29700 * time.Millisecond},
		{"nobody's", 0, nil, nil, 9900 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newPushing(time.Hour)
				s.defaultTTL = c.store
				hold := mustLock(t, (&defaulting{s}).open(t, c.open...).Mutex("a", c.lock...))
				if hold.Left() != c.left {
					t.Errorf("%v left, want %v", hold.Left(), c.left)
				}
				mustUnlock(t, hold)
			})
		})
	}
	t.Run("out of bounds", func(t *testing.T) {
		s := newPushing(time.Hour)
		s.defaultTTL = 25 * time.Hour
		_, err := s.open(t).Mutex("a").TryLock(t.Context())
		expect(t, err, holdfast.ErrTTL, "24h")
	})
}

// defaulting grants what is asked for.
type defaulting struct{ *pushing }

func (s *defaulting) open(t *testing.T, opts ...holdfast.OpenOption) *holdfast.Client {
	c := holdfast.New(s, opts...)
	t.Cleanup(func() { c.Close() })
	return c
}

func (s *defaulting) Acquire(ctx context.Context, r *driver.Request) (*driver.Grant, error) {
	return s.Store.Acquire(ctx, r)
}

// Rule (Grace): a grant that is too short for it is confirmed before it is returned, so that Grace is what the program asked for.
func TestShortGrantIsConfirmedForGrace(t *testing.T) {
	for _, c := range []struct {
		grace, left time.Duration
		renewals    int
	}{
		{4 * time.Second, 9900 * time.Millisecond, 1},
		{time.Second + 1, 9900 * time.Millisecond, 1},
		{time.Second, 1980 * time.Millisecond, 0}, // half of the grant is enough
		{0, 1980 * time.Millisecond, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newPushing(2 * time.Second)
			begun := time.Now()
			hold := mustLock(t, s.open(t).Mutex("a", holdfast.Grace(c.grace)))
			took(t, "Lock", begun, 0)
			if got := s.renewals(); len(got) != c.renewals || hold.Left() != c.left {
				t.Fatalf("Grace %v: renewed at %v, %v left, want %d renewals and %v", c.grace, got, hold.Left(), c.renewals, c.left)
			}
			ctx := hold.Context(t.Context())
			time.Sleep(time.Minute)
			if ctx.Err() != nil {
				t.Fatalf("the hold ended: %v", context.Cause(ctx))
			}
			s.fail(errCut)
			<-ctx.Done()
			if hold.Left() != c.grace {
				t.Errorf("the context ended with %v left, want %v", hold.Left(), c.grace)
			}
			expectLost(t, hold.Unlock(), holdfast.ReasonExpired)
		})
	}
}

// Rule of time 1: what is confirmed counts from the moment before the confirmation went out: neither from the grant nor from the answer.
func TestConfirmationCountsFromItsQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPushing(2 * time.Second)
		s.age = time.Second
		s.renew = func(context.Context, int) error {
			time.Sleep(300 * time.Millisecond)
			return nil
		}
		hold := mustLock(t, s.open(t).Mutex("a", holdfast.Grace(4*time.Second)))
		if hold.Left() != 9600*time.Millisecond {
			t.Errorf("%v left", hold.Left())
		}
		mustUnlock(t, hold)
	})
}

// Rule: where the store has sessions a grant has the session's TTL: there is nothing to confirm.
func TestSessionGrantIsNotConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript().withSession(4 * time.Second)
		hold := mustLock(t, s.open(t).Mutex("a", holdfast.Grace(5*time.Second)))
		if n := len(s.asked("renew")); n != 0 {
			t.Errorf("confirmed %d times", n)
		}
		mustUnlock(t, hold)
	})
}

// Rule: a grant that has gone before it could be confirmed was none: a new attempt is made. What nobody knows is asked again.
func TestConfirmationFails(t *testing.T) {
	for what, c := range map[string]struct {
		err  error
		anew bool
	}{
		"gone":    {driver.ErrGone, true},
		"broken":  {&driver.Broken{By: "somebody"}, true},
		"unknown": {errCut, false},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newPushing(2 * time.Second)
				s.renew = func(_ context.Context, renewal int) error {
					if renewal == 1 {
						return c.err
					}
					return nil
				}
				hold := mustLock(t, s.open(t).Mutex("a", holdfast.Grace(4*time.Second)))
				ids := s.asked()
				if len(ids) != 2 || (ids[0] != ids[1]) != c.anew {
					t.Errorf("asked for %d times, anew %v; want twice, anew %v", len(ids), ids[0] != ids[len(ids)-1], c.anew)
				}
				if left := hold.Left(); left != 9900*time.Millisecond {
					t.Errorf("%v left", left)
				}
				mustUnlock(t, hold)
				vacant(t, s)
			})
		})
	}
}

// vacant fails the test unless nobody holds or waits for a.
func vacant(t *testing.T, s *pushing) {
	t.Helper()
	synctest.Wait()
	info, err := s.Inspect(t.Context(), "a", driver.Exclusive)
	if err != nil || len(info.Holders)+len(info.Waiters) > 0 {
		t.Errorf("left behind: %+v, %v", info, err)
	}
}

// Rule of time 5: the caller's context bounds the confirmation too; what was granted meanwhile is undone.
func TestConfirmationIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPushing(2 * time.Second)
		s.renew = func(ctx context.Context, _ int) error { return hang(ctx) }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		_, err := s.open(t).Mutex("a", holdfast.Grace(4*time.Second)).Lock(ctx)
		took(t, "Lock", begun, time.Second)
		expect(t, err, context.DeadlineExceeded)
		vacant(t, s)
	})
}

// Rule of time 3: a grant that counts from a moment long past is renewed in time, but not at once: most holds are short.
func TestOldGrantIsRenewedInTime(t *testing.T) {
	const span = 2 * time.Second
	for _, c := range []struct{ age, earliest, latest time.Duration }{
		{0, span * 4 / 15, span / 3},                               // a third of it, up to a fifth earlier
		{800 * time.Millisecond, 60 * time.Millisecond, span / 10}, // due a while ago: a tenth of it from now
		{1100 * time.Millisecond, 60 * time.Millisecond, span / 10},
		{1300 * time.Millisecond, 0, 20 * time.Millisecond}, // a third is left: no time to lose
		{1900 * time.Millisecond, 0, 0},
	} {
		for range 20 { // the moment is random
			synctest.Test(t, func(t *testing.T) {
				s := newPushing(span)
				s.age = c.age
				hold := mustLock(t, s.open(t).Mutex("a"))
				time.Sleep(time.Second)
				synctest.Wait()
				at := s.renewals()
				if len(at) != 1 || at[0] < c.earliest || at[0] > c.latest {
					t.Errorf("%v old: renewed at %v, want once, from %v to %v", c.age, at, c.earliest, c.latest)
				}
				if hold.Err() != nil || hold.Left() < 8*time.Second {
					t.Errorf("%v old: %v, %v left", c.age, hold.Err(), hold.Left())
				}
				mustUnlock(t, hold)
			})
		}
	}
}

// Rule: a short hold of an old grant costs no renewal.
func TestOldGrantThatEndsSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPushing(2 * time.Second)
		s.age = 800 * time.Millisecond
		locks := s.open(t)
		for range 100 {
			hold := mustLock(t, locks.Mutex("a"))
			time.Sleep(10 * time.Millisecond)
			mustUnlock(t, hold)
		}
		if at := s.renewals(); len(at) > 0 {
			t.Errorf("renewed at %v", at)
		}
	})
}

// Rule (Fixed): the TTL is the lock's, however short the store's first grant is: it is renewed until that is covered, and no longer.
func TestFixedWithAShortGrant(t *testing.T) {
	for _, opts := range [][]holdfast.Option{{holdfast.Fixed()}, {holdfast.Fixed(), holdfast.Grace(3 * time.Second)}} {
		synctest.Test(t, func(t *testing.T) {
			s := newPushing(2 * time.Second)
			locks := s.open(t)
			begun := time.Now()
			hold := mustLock(t, locks.Mutex("a", opts...))
			ctx := hold.Context(t.Context())
			other := make(chan time.Duration, 1)
			go func() {
				h := mustLock(t, locks.Mutex("a"))
				other <- time.Since(begun)
				h.Unlock()
			}()
			<-ctx.Done()
			took(t, "the hold", begun, 9900*time.Millisecond-time.Duration(len(opts)-1)*3*time.Second)
			expectLost(t, context.Cause(ctx), holdfast.ReasonExpired)
			if at := <-other; at < 9900*time.Millisecond {
				t.Errorf("somebody else held it after %v", at)
			}
			if at := s.renewals(); len(at) != 1 {
				t.Errorf("renewed at %v, want once", at)
			}
		})
	}
}

// Rule (Grace): inside a hold it can be as long as half of what the store confirmed last, not of what it granted first.
func TestNestedGraceFollowsTheRenewal(t *testing.T) {
	for _, c := range []struct{ after, grace time.Duration }{
		{0, time.Second}, // half of the first grant
		{5 * time.Second, 4 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newPushing(2 * time.Second)
			locks := s.open(t)
			outer := mustLock(t, locks.Mutex("a"))
			time.Sleep(c.after)
			synctest.Wait()
			inner := mustLockIn(outer.Context(t.Context()), t, locks.Mutex("a", holdfast.Grace(4*time.Second)))
			ctx := inner.Context(t.Context())
			s.fail(errCut)
			<-ctx.Done()
			if outer.Left() != c.grace {
				t.Errorf("nested after %v: ended with %v left, want %v", c.after, outer.Left(), c.grace)
			}
			if err := errors.Join(inner.Unlock(), outer.Unlock()); !errors.Is(err, holdfast.ErrLost) {
				t.Errorf("Unlock: %v", err)
			}
		})
	}
}
