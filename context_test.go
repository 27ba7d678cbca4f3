package holdfast_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
)

// Rule: a hold's context ends with its parent too, and passes its parent's values and deadline on.
func TestContextHasAParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		parent, cancel := context.WithTimeoutCause(context.WithValue(t.Context(), key{}, "value"), time.Second, errWork)
		defer cancel()
		hold := mustLock(t, newScript().open(t).Mutex("a"))
		ctx := hold.Context(parent)
		if ctx.Value(key{}) != "value" {
			t.Error("the parent's values are missing")
		}
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) != time.Second {
			t.Error("the parent's deadline is missing")
		}
		<-ctx.Done()
		if ctx.Err() != context.DeadlineExceeded || context.Cause(ctx) != errWork || hold.Err() != nil {
			t.Errorf("%v, because %v; the hold: %v", ctx.Err(), context.Cause(ctx), hold.Err())
		}
		mustUnlock(t, hold)
		if context.Cause(ctx) != errWork {
			t.Errorf("the cause changed to %v", context.Cause(ctx))
		}
	})
}

// Rule: without a parent it is a context of its own.
func TestContextWithoutAParent(t *testing.T) {
	hold := mustLock(t, newScript().open(t).Mutex("a"))
	ctx := hold.Context(noContext)
	if ctx.Err() != nil || holdfast.Token(ctx) != hold.Token() {
		t.Errorf("%v, token %d", ctx.Err(), holdfast.Token(ctx))
	}
	mustUnlock(t, hold)
	expect(t, context.Cause(ctx), holdfast.ErrReleased)
}

// Rule: all contexts of a hold end with it, each with the cause; those of other holds do not.
func TestContextsEndWithTheHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := newScript().open(t)
		one, two := mustLock(t, locks.Mutex("a")), mustLock(t, locks.Mutex("b"))
		var contexts []context.Context
		for range 10 {
			contexts = append(contexts, one.Context(t.Context()))
		}
		other := two.Context(t.Context())
		mustUnlock(t, one)
		for _, ctx := range contexts {
			expect(t, context.Cause(ctx), holdfast.ErrReleased)
		}
		if other.Err() != nil {
			t.Errorf("another lock's context ended: %v", context.Cause(other))
		}
		mustUnlock(t, two)
	})
}

// Rule: a long hold does not collect contexts whose parents have ended.
func TestContextsDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := mustLock(t, newScript().open(t).Mutex("a"))
		for range 1000 {
			parent, cancel := context.WithCancel(t.Context())
			hold.Context(parent)
			cancel()
			hold.Context(parent) // and one that had ended before
		}
		synctest.Wait()
		if n := hold.Contexts(); n != 0 {
			t.Errorf("%d contexts are left", n)
		}
		mustUnlock(t, hold)
	})
}

// Rule: Held finds the good hold of that lock from whose Context ctx descends; Token the innermost of any lock.
func TestHeldAndToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		one, two := s.open(t), s.open(t)
		if holdfast.Token(t.Context()) != 0 {
			t.Error("a token without a hold")
		}
		a := mustLock(t, one.Mutex("a"))
		inA := a.Context(t.Context())
		b := mustLockIn(inA, t, one.Mutex("b"))
		inB := b.Context(inA)
		if holdfast.Token(inA) != a.Token() || holdfast.Token(inB) != b.Token() {
			t.Errorf("tokens %d and %d", holdfast.Token(inA), holdfast.Token(inB))
		}
		for _, c := range []struct {
			locks *holdfast.Client
			ctx   context.Context
			name  string
			want  *holdfast.Hold
		}{
			{one, inA, "a", a}, {one, inB, "a", a}, {one, inB, "b", b},
			{one, inA, "b", nil}, {two, inA, "a", nil}, {one, t.Context(), "a", nil}, {one, context.WithoutCancel(inB), "a", a},
		} {
			if got, ok := c.locks.Held(c.ctx, c.name); got != c.want || ok != (c.want != nil) {
				t.Errorf("Held(%q) = %v, %v", c.name, got, ok)
			}
		}
		mustUnlock(t, a)
		if _, ok := one.Held(inB, "a"); ok {
			t.Error("an ended hold is held")
		}
		mustUnlock(t, b)
	})
}

// Rule: a hold is what package fence takes, and its token is the same there.
func TestFenceToken(t *testing.T) {
	hold := mustLock(t, newScript().open(t).Mutex("a"))
	if token, err := hold.FenceToken(); token != hold.Token() || err != nil {
		t.Errorf("%d, %v; want %d", token, err, hold.Token())
	}
	mustUnlock(t, hold)
	if token, err := hold.FenceToken(); token != hold.Token() || err != nil { // the resource refuses it, not the client
		t.Errorf("after Unlock: %d, %v; want %d", token, err, hold.Token())
	}
}

// Rule: a lost hold is not held.
func TestLostIsNotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := unrenewable().open(t)
		hold := mustLock(t, locks.Mutex("a", holdfast.Grace(time.Second)))
		ctx := hold.Context(t.Context())
		time.Sleep(9 * time.Second)
		if _, ok := locks.Held(ctx, "a"); ok {
			t.Error("a hold that is ending is held")
		}
		if holdfast.Token(ctx) != hold.Token() {
			t.Error("the token must stay: a late write must be refused by it")
		}
		if late := hold.Context(t.Context()); !errors.Is(context.Cause(late), holdfast.ErrLost) {
			t.Errorf("a context of a lost hold: %v", context.Cause(late))
		}
	})
}
