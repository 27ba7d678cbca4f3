package holdfast_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// Rule: Unlock frees the lock once, under the attempt of the grant, ends the hold's contexts with ErrReleased, and does nothing the
// second time but say ErrReleased.
func TestUnlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		locks := s.open(t)
		hold := mustLock(t, locks.Mutex("a"))
		ctx := hold.Context(t.Context())
		mustUnlock(t, hold)
		expect(t, context.Cause(ctx), holdfast.ErrReleased)
		if ctx.Err() != context.Canceled {
			t.Errorf("the context's error is %v", ctx.Err())
		}
		for range 3 {
			expect(t, hold.Unlock(), holdfast.ErrReleased, `"a"`)
		}
		expect(t, hold.Err(), holdfast.ErrReleased)
		expect(t, hold.Check(t.Context()), holdfast.ErrReleased)
		if hold.Left() != 0 || hold.Count() != 0 || hold.Token() != 1 || hold.Name() != "a" {
			t.Errorf("%v left, count %d, token %d, name %q", hold.Left(), hold.Count(), hold.Token(), hold.Name())
		}
		if r := s.asked("release"); len(r) != 1 || r[0].id != s.asked("acquire")[0].id || r[0].ended != nil {
			t.Errorf("released %+v", r)
		}
		if late := hold.Context(t.Context()); !errors.Is(context.Cause(late), holdfast.ErrReleased) {
			t.Errorf("a context of an ended hold: %v", context.Cause(late))
		}
		if tenures, leases, alarms, running := locks.Residue(); tenures+leases+alarms+running != 0 {
			t.Errorf("left over: %d tenures, %d leases, %d alarms, %d running", tenures, leases, alarms, running)
		}
	})
}

// Rule (errors): the store's first answer that it has no such hold means that it was lost before.
func TestUnlockOfWhatWasTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		hold := mustLock(t, s.open(t).Mutex("a"))
		s.release = func(context.Context, *driver.Request, int) error { return driver.ErrGone }
		lost := expectLost(t, hold.Unlock(), holdfast.ReasonTaken)
		if lost.Token != hold.Token() || lost.Name != "a" || !errors.Is(lost, driver.ErrGone) {
			t.Errorf("got %+v", lost)
		}
		expectLost(t, hold.Err(), holdfast.ReasonTaken)
		expectLost(t, hold.Unlock(), holdfast.ReasonTaken)
	})
}

// Rule: after an unknown answer the store is told again, and ErrGone then means that the first time worked.
func TestUnlockRepeatedAfterALostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		hold := mustLock(t, s.open(t).Mutex("a"))
		s.release = func(_ context.Context, r *driver.Request, ask int) error {
			if err := s.free(r); ask > 2 {
				return err
			}
			return errCut
		}
		mustUnlock(t, hold)
		if n := len(s.asked("release")); n != 3 {
			t.Errorf("told %d times, want 3", n)
		}
	})
}

// Rule: Unlock waits no longer than the hold is valid, and 5 s at most; then it goes on in the background, and the error says so.
func TestUnlockIsBounded(t *testing.T) {
	for _, c := range []struct{ ttl, wait time.Duration }{
		{time.Minute, 5 * time.Second},
		{10 * time.Second, 5 * time.Second},
		{2 * time.Second, 1980 * time.Millisecond},
		{100 * time.Millisecond, 98 * time.Millisecond},
	} {
		for what, answer := range map[string]func(context.Context) error{
			"no answer": hang, "a broken line": func(context.Context) error { return errCut },
		} {
			t.Run(what+" "+c.ttl.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newScript()
					hold := mustLock(t, s.open(t).Mutex("a", holdfast.TTL(c.ttl)))
					down := true
					s.release = func(ctx context.Context, r *driver.Request, _ int) error {
						s.mu.Lock()
						broken := down
						s.mu.Unlock()
						if broken {
							return answer(ctx)
						}
						return s.free(r)
					}
					begun := time.Now()
					err := hold.Unlock()
					took(t, "Unlock", begun, c.wait)
					var told *holdfast.StoreError
					if !errors.As(err, &told) || told.Op != "unlock" || errors.Is(err, holdfast.ErrLost) {
						t.Errorf("got %v, want a *StoreError of unlock", err)
					}
					expect(t, err, err, "goes on in the background")
					expect(t, hold.Err(), holdfast.ErrReleased)
					s.mu.Lock()
					down = false
					s.mu.Unlock()
					time.Sleep(7 * time.Second)
					if s.held() != 0 && c.ttl > 5*time.Second { // else the store's own TTL has ended it by now
						t.Error("the background gave up")
					}
					for i, r := range s.asked("release") {
						if r.ended != nil {
							t.Errorf("question %d came on a context that had ended", i+1)
						}
					}
				})
			})
		}
	}
}

// Rule: a hold that Extend has moved is released for as long as the store may have it, not only for its TTL.
func TestUnlockGoesOnAfterExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		hold := mustLock(t, s.open(t).Mutex("a"))
		if err := hold.Extend(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		s.release = func(_ context.Context, r *driver.Request, _ int) error {
			if time.Duration(s.clock.Now()) < 30*time.Minute {
				return errCut
			}
			return s.free(r)
		}
		if hold.Unlock() == nil {
			t.Fatal("the store is not the one of the test")
		}
		time.Sleep(40 * time.Minute)
		if s.held() != 0 {
			t.Error("given up, though the store has the hold for an hour")
		}
	})
}

// Rule: a lost answer is not waited for long, whatever the TTL: the next question could be answered.
func TestUnlockDoesNotWaitLongForALostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		hold := mustLock(t, s.open(t).Mutex("a", holdfast.TTL(24*time.Hour)))
		s.release = func(ctx context.Context, r *driver.Request, ask int) error {
			if ask < 4 {
				return hang(ctx)
			}
			return s.free(r)
		}
		hold.Unlock()
		time.Sleep(20 * time.Second)
		if s.held() != 0 {
			t.Errorf("still held after 25s and %d questions", len(s.asked("release")))
		}
	})
}

// Rule: the store is told again while there is time: an answer that got lost does not use up the whole wait.
func TestUnlockAsksAgainInTime(t *testing.T) {
	for ttl, patience := range map[time.Duration]time.Duration{10 * time.Second: 10 * time.Second / 3, time.Second: 500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript()
			hold := mustLock(t, s.open(t).Mutex("a", holdfast.TTL(ttl)))
			s.release = func(ctx context.Context, r *driver.Request, ask int) error {
				if ask == 1 {
					return hang(ctx)
				}
				return s.free(r)
			}
			begun := time.Now()
			mustUnlock(t, hold)
			if d := time.Since(begun); d < patience || d > patience+10*time.Millisecond {
				t.Errorf("with a TTL of %v it took %v, want %v and a short pause", ttl, d, patience)
			}
		})
	}
}

// Rule of the driver contract (R): only nil and ErrGone end a Release. A refusal, by a server that has become read-only for instance,
// is reported at once, and repeated in the background.
func TestUnlockRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		hold := mustLock(t, s.open(t).Mutex("a"))
		s.release = func(_ context.Context, r *driver.Request, ask int) error {
			if ask < 5 {
				return &driver.Refused{Err: errFull}
			}
			return s.free(r)
		}
		begun := time.Now()
		expect(t, hold.Unlock(), errFull, "unlock", "refused", "background")
		took(t, "Unlock", begun, 0)
		time.Sleep(time.Minute)
		if n := len(s.asked("release")); n != 5 || s.held() != 0 {
			t.Errorf("told %d times, %d held", n, s.held())
		}
	})
}

// Rule of the driver contract: a session that has ended has freed the lock: that is an answer, and a loss.
func TestUnlockAfterTheSessionEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		hold := mustLock(t, s.open(t).Mutex("a"))
		s.release = func(context.Context, *driver.Request, int) error { return driver.ErrSession }
		begun := time.Now()
		expect(t, hold.Unlock(), holdfast.ErrLost)
		took(t, "Unlock", begun, 0)
	})
}

// Rule of the driver contract: what can never work is not repeated.
func TestUnlockUnsupported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		hold := mustLock(t, s.open(t).Mutex("a"))
		s.release = func(context.Context, *driver.Request, int) error { return driver.ErrUnsupported }
		expect(t, hold.Unlock(), driver.ErrUnsupported)
		time.Sleep(time.Minute)
		if n := len(s.asked("release")); n != 1 {
			t.Errorf("told %d times", n)
		}
	})
}

// Rule: Unlock from many goroutines frees once; the others hear ErrReleased.
func TestUnlockFromManyGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		hold := mustLock(t, s.open(t).Mutex("a"))
		results := make(chan error)
		for range 20 {
			go func() { results <- hold.Unlock() }()
		}
		good := 0
		for range 20 {
			if err := <-results; err == nil {
				good++
			} else {
				expect(t, err, holdfast.ErrReleased)
			}
		}
		if n := len(s.asked("release")); good != 1 || n != 1 {
			t.Errorf("%d say that they freed it, the store was told %d times", good, n)
		}
	})
}
