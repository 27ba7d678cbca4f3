package holdfast_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// A countingScript is a store that shows re-entry on the wire.
type countingScript struct {
	*script
	count func(ctx context.Context, n int) error
}

func (s *countingScript) Count(ctx context.Context, r *driver.Request, n int) error {
	s.note(ctx, scriptCall{op: "count", name: r.Name, id: r.Attempt, n: n})
	if s.count != nil {
		return s.count(ctx, n)
	}
	return nil
}

// Rule of the driver contract (Counter): the store is told how often the lock is entered, from the first re-entry on.
func TestCounter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &countingScript{script: newScript()}
		locks := holdfast.New(s)
		defer locks.Close()
		m := locks.Mutex("a")
		outer := mustLock(t, m)
		inner := mustLockIn(outer.Context(t.Context()), t, m)
		innermost := mustLockIn(inner.Context(t.Context()), t, m)
		for _, h := range []*holdfast.Hold{outer, innermost, inner} {
			mustUnlock(t, h)
		}
		var counts []int
		for _, c := range s.asked("count") {
			if counts = append(counts, c.n); c.id != s.asked("acquire")[0].id || c.ended != nil {
				t.Error("counted under another attempt, or on a context that had ended")
			}
		}
		if want := []int{2, 3, 2, 1}; !slices.Equal(counts, want) {
			t.Errorf("counted %v, want %v, and then released", counts, want)
		}
		if s.held() != 0 {
			t.Error("still held")
		}
	})
}

// Rule of the driver contract (Counter): the hold does not depend on the count; but a store that no longer has the hold is believed.
func TestCounterAnswers(t *testing.T) {
	for answer, lost := range map[error]bool{errCut: false, driver.ErrGone: true} {
		synctest.Test(t, func(t *testing.T) {
			s := &countingScript{script: newScript(), count: func(context.Context, int) error { return answer }}
			locks := holdfast.New(s)
			defer locks.Close()
			outer := mustLock(t, locks.Mutex("a"))
			inner := mustLockIn(outer.Context(t.Context()), t, locks.Mutex("a"))
			if got := inner.Err() != nil; got != lost {
				t.Errorf("after %v the hold is lost: %v", answer, inner.Err())
			}
			inner.Unlock()
			outer.Unlock()
		})
	}
}
