package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// Rule (errors): taken, unreachable, cancelled, guarded and lost are never confused: each error is what it is, and nothing else.
func TestErrorsAreWhatTheyAre(t *testing.T) {
	all := []error{
		holdfast.ErrHeld, holdfast.ErrGuarded, holdfast.ErrLost, holdfast.ErrNotHeld, holdfast.ErrReleased, holdfast.ErrClosed, holdfast.ErrName,
		holdfast.ErrTTL, holdfast.ErrArgument, holdfast.ErrURL, holdfast.ErrUnsupported, holdfast.ErrDeadlock, context.Canceled, context.DeadlineExceeded,
		errCut,
	}
	for _, c := range []struct {
		err error
		is  []error
	}{
		{&holdfast.HeldError{Name: "a"}, []error{holdfast.ErrHeld}},
		{&holdfast.HeldError{Name: "a", Err: context.Canceled}, []error{holdfast.ErrHeld, context.Canceled}},
		{&holdfast.GuardedError{Name: "a"}, []error{holdfast.ErrGuarded}},
		{&holdfast.GuardedError{Name: "a", Err: context.DeadlineExceeded}, []error{holdfast.ErrGuarded, context.DeadlineExceeded}},
		{&holdfast.LostError{Name: "a", Reason: holdfast.ReasonExpired}, []error{holdfast.ErrLost}},
		{&holdfast.LostError{Name: "a", Reason: holdfast.ReasonTaken, Err: errCut}, []error{holdfast.ErrLost, errCut}},
		{&holdfast.StoreError{Op: "lock", Err: errCut}, []error{errCut}},
		{&holdfast.RequirementError{}, []error{holdfast.ErrUnsupported}},
	} {
		for _, target := range all {
			want := false
			for _, is := range c.is {
				want = want || is == target
			}
			if got := errors.Is(fmt.Errorf("wrapped: %w", c.err), target); got != want {
				t.Errorf("%q is %q: %v, want %v", c.err, target, got, want)
			}
		}
	}
}

// Rule (errors): the texts tell people what happened to which lock.
func TestErrorTexts(t *testing.T) {
	holders := []holdfast.Holder{{Label: "host:1 nightly", Token: 7, Held: 90 * time.Second}}
	for want, err := range map[string]error{
		`holdfast: lock "a" is held by "host:1 nightly" for 1m30s (token 7); free in 2s unless it is renewed`: &holdfast.HeldError{Name: "a", Holders: holders, RetryIn: 2 * time.Second},
		`holdfast: lock "a": gave up waiting, it is held: context canceled`:                                   &holdfast.HeldError{Name: "a", Err: context.Canceled},
		`holdfast: lock "a" (token 7) was lost: its time was over, and it was not renewed`:                    &holdfast.LostError{Name: "a", Token: 7, Reason: holdfast.ReasonExpired},
		`holdfast: lock "a" (token 7) was lost: the hold was broken by "host:2"`:                              &holdfast.LostError{Name: "a", Token: 7, Reason: holdfast.ReasonBroken, Err: &driver.Broken{By: "host:2"}},
		`holdfast: lock "a" (token 7) was lost: the session that kept it ended`:                               &holdfast.LostError{Name: "a", Token: 7, Reason: holdfast.ReasonSession},
		`holdfast: lock "a" (token 7) was lost: the store no longer has it`:                                   &holdfast.LostError{Name: "a", Token: 7, Reason: holdfast.ReasonTaken},
		`holdfast: lock "a" (token 7) was lost: it was held for as long as MaxHold allows`:                    &holdfast.LostError{Name: "a", Token: 7, Reason: holdfast.ReasonMaxHold},
		`holdfast: lock: store redis://host (10.0.0.1:6379): the connection was cut`:                          &holdfast.StoreError{Op: "lock", Store: "redis://host", Node: "10.0.0.1:6379", Err: errCut},
		`holdfast: renew: store mem://: the connection was cut`:                                               &holdfast.StoreError{Op: "renew", Store: "mem://", Err: errCut},
	} {
		if err.Error() != want {
			t.Errorf("got  %s\nwant %s", err, want)
		}
	}
	guarded := (&holdfast.GuardedError{Name: "a", Left: 7 * time.Second, Err: context.Canceled}).Error()
	for _, word := range []string{`lock "a"`, "7s left", "granted before may still be valid", "gave up waiting: context canceled"} {
		if !strings.Contains(guarded, word) {
			t.Errorf("%q does not say %q", guarded, word)
		}
	}
}

// Rule of ownership 1: an attempt's id appears in no error, event or listing, however they are printed.
func TestTheAttemptIsASecret(t *testing.T) {
	s, diary := newScript(), new(diary)
	locks := s.open(t, holdfast.WithObserver(diary))
	hold := mustLock(t, locks.Mutex("a"))
	secret := s.asked("acquire")[0].id.Reveal()
	s.release = func(context.Context, *driver.Request, int) error { return driver.ErrGone }
	err := hold.Unlock()
	for _, shown := range []any{hold, err, locks, locks.Mutex("a"), diary.of(holdfast.EventAcquired, holdfast.EventReleased), s.asked()[0].id} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			if text := fmt.Sprintf(verb, shown); strings.Contains(text, secret) {
				t.Errorf("%T with %s shows the attempt: %s", shown, verb, text)
			}
		}
	}
}
