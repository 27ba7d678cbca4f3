package holdfast_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// A peeking store shows a test the contexts that the driver is given.
type peeking struct {
	driver.Store
	see func(context.Context)
}

func (s *peeking) Acquire(ctx context.Context, r *driver.Request) (*driver.Grant, error) {
	s.see(ctx)
	return s.Store.Acquire(ctx, r)
}

type traceKey struct{}

// Calls whose contexts end together share what they wait with, but not the values: those are each call's own.
func TestWaitsShareNoValues(t *testing.T) {
	var seen []any
	c := holdfast.New(&peeking{memlock.New(), func(ctx context.Context) { seen = append(seen, ctx.Value(traceKey{})) }})
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, each := range []context.Context{context.WithValue(ctx, traceKey{}, "first"), ctx, context.WithValue(ctx, traceKey{}, "third"), context.Background()} {
		hold, err := c.Mutex("lock").Lock(each)
		if err != nil {
			t.Fatal(err)
		}
		hold.Unlock()
	}
	if want := []any{"first", nil, "third", nil}; len(seen) != 4 || seen[0] != want[0] || seen[1] != want[1] || seen[2] != want[2] || seen[3] != want[3] {
		t.Errorf("the driver sees %v, want %v", seen, want)
	}
}

// What a driver derives from the context that it is given costs no goroutine, and ends with it.
func TestWaitsAreCheapParents(t *testing.T) {
	for what, parent := range map[string]func() (context.Context, context.CancelFunc){
		"that can end":    func() (context.Context, context.CancelFunc) { return context.WithTimeout(t.Context(), time.Minute) },
		"that cannot end": func() (context.Context, context.CancelFunc) { return context.Background(), func() {} },
	} {
		ctx, cancel := parent()
		more := -1
		var child context.Context
		var ends context.CancelFunc
		c := holdfast.New(&peeking{memlock.New(), func(ctx context.Context) {
			before := runtime.NumGoroutine()
			for range 100 {
				_, cancel := context.WithCancel(ctx)
				defer cancel()
			}
			more = runtime.NumGoroutine() - before
			child, ends = context.WithTimeout(ctx, time.Hour)
		}})
		hold, err := c.Mutex("lock").Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		hold.Unlock()
		if more > 10 {
			t.Errorf("a context %s: 100 contexts that were derived from it cost %d goroutines", what, more)
		}
		cancel()
		c.Close()
		<-child.Done()
		ends()
	}
}
