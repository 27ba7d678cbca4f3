package interop_test

import (
	"slices"
	"testing"

	"holdfast.dev/interop/internal/line"
)

// Who has lost a lock to the other, and does not know it yet, deletes nothing of the other's: not by extending, not by unlocking.
func TestReleaseOfALostHold(t *testing.T) {
	eachWay(t, func(t *testing.T, f *fleet, first, second *line.Program) {
		ctx, name := t.Context(), newName(t)
		must(t, first.Lock(ctx, name, forLong, wait))
		f.do(t, "DEL", name)
		must(t, second.Lock(ctx, name, forLong, wait))
		has := f.full(t, name)
		mustBe(t, first.Extend(ctx, name, forLong), line.ErrGone)
		mustBe(t, first.Unlock(ctx, name), line.ErrGone)
		if now := f.values(t, name); !slices.Equal(now, has) {
			t.Fatalf("the second has it, but the nodes have %q instead of %q", now, has)
		}
		mustBe(t, first.Try(ctx, name, forLong), line.ErrHeld)
		must(t, second.Extend(ctx, name, forLong))
		must(t, second.Unlock(ctx, name))
		f.isFree(t, name)
	})
}
