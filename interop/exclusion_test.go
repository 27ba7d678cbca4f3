package interop_test

import (
	"testing"
	"time"

	"holdfast.dev/interop/internal/line"
)

// Who holds keeps the other out, and lets it in by unlocking.
func TestExclusion(t *testing.T) {
	eachWay(t, func(t *testing.T, f *fleet, first, second *line.Program) {
		ctx, name := t.Context(), newName(t)
		must(t, first.Try(ctx, name, forLong))
		mustBe(t, second.Try(ctx, name, forLong), line.ErrHeld)
		got := make(chan error, 1)
		go func() { got <- second.Lock(ctx, name, forLong, wait) }()
		select {
		case err := <-got:
			t.Fatalf("both hold it, or the second gave up: %v", err)
		default:
		}
		must(t, first.Unlock(ctx, name))
		must(t, <-got)
		mustBe(t, first.Try(ctx, name, forLong), line.ErrHeld)
		must(t, second.Unlock(ctx, name))
		f.isFree(t, name)
		must(t, first.Try(ctx, name, forLong))
		must(t, first.Unlock(ctx, name))
		f.isFree(t, name)
	})
}

// Who extends keeps the other out beyond the first TTL.
func TestExtension(t *testing.T) {
	eachWay(t, func(t *testing.T, f *fleet, first, second *line.Program) {
		ctx, name := t.Context(), newName(t)
		var ends time.Time // of the first TTL, at the latest
		for n := 1; ; n++ {
			asked := time.Now()
			must(t, first.Lock(ctx, name, brief, wait))
			ends = time.Now().Add(brief)
			err := first.Extend(ctx, name, forLong)
			if err == nil {
				break
			}
			if early := time.Until(asked.Add(brief)); n == tries || early > brief/10 {
				t.Fatalf("it could not extend, %v before the end: %v", early, err)
			}
		}
		for time.Now().Before(ends.Add(brief / 4)) {
			mustBe(t, second.Try(ctx, name, forLong), line.ErrHeld)
			time.Sleep(time.Millisecond)
		}
		must(t, first.Unlock(ctx, name))
		must(t, second.Lock(ctx, name, forLong, wait))
		must(t, second.Unlock(ctx, name))
		f.isFree(t, name)
	})
}
