package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// names returns the names of the parts of a hold, in the order in which they were taken.
func names(h *holdfast.Hold) string {
	var all []string
	for _, p := range h.Parts() {
		all = append(all, p.Name())
	}
	return strings.Join(all, " ")
}

// Rule (Multi): several locks are held as one, all or none, of different clients and stores; Unlock releases all of them.
func TestMultiHoldsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := memlock.NewServer(), memlock.NewServer()
		one, two := connect(t, here), connect(t, there)
		parts := []holdfast.Locker{
			one.Mutex("m"), two.Mutex("m"), one.RWMutex("w"), two.RWMutex("r").Reader(), one.Semaphore("s", 2).Permits(2),
			holdfast.Multi(two.Mutex("x"), one.Mutex("y")),
		}
		hold := mustLock(t, holdfast.Multi(parts...))
		if n := len(hold.Parts()); n != 7 || hold.Err() != nil || hold.Count() != 1 {
			t.Errorf("%d parts, count %d, %v", n, hold.Count(), hold.Err())
		}
		strangers := []holdfast.Locker{
			connect(t, here).Mutex("m"), connect(t, there).Mutex("m"), connect(t, here).RWMutex("w").Reader(), connect(t, there).RWMutex("r"),
			connect(t, here).Semaphore("s", 2).Permits(1), connect(t, there).Mutex("x"), connect(t, here).Mutex("y"),
		}
		for i, l := range strangers {
			_, err := l.TryLock(t.Context())
			if !errors.Is(err, holdfast.ErrHeld) {
				t.Errorf("part %d is not held: %v", i+1, err)
			}
		}
		mustUnlock(t, mustTry(t.Context(), t, connect(t, there).RWMutex("r").Reader())) // a reader keeps no reader out
		mustUnlock(t, hold)
		for _, l := range strangers {
			mustUnlock(t, mustTry(t.Context(), t, l))
		}
		expect(t, hold.Unlock(), holdfast.ErrReleased)
		expect(t, hold.Err(), holdfast.ErrReleased)
		if hold.Count() != 0 || hold.Left() != 0 {
			t.Errorf("count %d, %v left, after Unlock", hold.Count(), hold.Left())
		}
	})
}

// Rule (Hold of a Multi): it has all names and no token; each part has its own. Another hold is its own only part.
func TestMultiNamesAndTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := connect(t, memlock.NewServer())
		plain := mustLock(t, locks.Mutex("plain"))
		if p := plain.Parts(); len(p) != 1 || p[0] != plain {
			t.Errorf("the parts of a plain hold: %v", p)
		}
		hold := mustLock(t, holdfast.Multi(locks.Mutex("b"), locks.Mutex("a")))
		parts := hold.Parts()
		if hold.Name() != "a + b" || names(hold) != "a b" {
			t.Errorf("name %q, parts %s", hold.Name(), names(hold))
		}
		if a, b := parts[0].Token(), parts[1].Token(); a <= plain.Token() || b <= a || hold.Token() != 0 {
			t.Errorf("tokens %d and %d, and %d for the whole", a, b, hold.Token())
		}
		_, err := hold.FenceToken()
		expect(t, err, holdfast.ErrUnsupported, "a + b", "Parts")
		if token, err := parts[1].FenceToken(); token != parts[1].Token() || err != nil {
			t.Errorf("a part fences with %d, %v", token, err)
		}
		want := fmt.Sprintf(`hold of "a", token %d and hold of "b", token %d`, parts[0].Token(), parts[1].Token())
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
			if got := fmt.Sprintf(format, hold); got != want {
				t.Errorf("%s prints %q, want %q", format, got, want)
			}
		}
		parts[0] = nil // the caller's own slice
		if names(hold) != "a b" {
			t.Error("Parts gives its own slice away")
		}
		mustUnlock(t, hold)
	})
}

// Rule (Hold of a Multi): what is left is what is left of the part that ends first.
func TestMultiLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := newScript().open(t)
		hold := mustLock(t, holdfast.Multi(
			locks.Mutex("a", holdfast.TTL(time.Minute), holdfast.Fixed()),
			locks.Mutex("b", holdfast.TTL(20*time.Second), holdfast.Fixed()),
			locks.Mutex("c", holdfast.TTL(30*time.Second), holdfast.Fixed()),
		))
		if want := 19800 * time.Millisecond; hold.Left() != want {
			t.Errorf("%v left, want %v", hold.Left(), want)
		}
		forever := mustLock(t, holdfast.Multi(newScript().withoutTTL().open(t).Mutex("a")))
		if forever.Left() != holdfast.Forever {
			t.Errorf("%v left where nothing runs out", forever.Left())
		}
	})
}

// Rule (Hold of a Multi): Check asks for each part, and says what the first one says that is not good.
func TestMultiCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.renew = func(context.Context, *scriptLease, time.Duration, int) (time.Duration, error) {
			return 10 * time.Second, nil
		}
		locks := s.open(t)
		hold := mustLock(t, holdfast.Multi(locks.Mutex("a"), locks.Mutex("b")))
		if err := hold.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := s.asked("renew"); len(r) != 2 || r[0].name != "a" || r[1].name != "b" || r[0].ttl+r[1].ttl != 0 {
			t.Errorf("asked %+v, want one question for each part", r)
		}
		expect(t, hold.Check(noContext), holdfast.ErrArgument)
		s.renew = func(_ context.Context, l *scriptLease, ttl time.Duration, _ int) (time.Duration, error) {
			if l.r.Name == "b" {
				return 0, driver.ErrGone
			}
			return 10 * time.Second, nil
		}
		ctx := hold.Context(t.Context())
		if lost := expectLost(t, hold.Check(t.Context()), holdfast.ReasonTaken); lost.Name != "b" {
			t.Errorf("lost %q", lost.Name)
		}
		expectLost(t, context.Cause(ctx), holdfast.ReasonTaken)
		expectLost(t, hold.Unlock(), holdfast.ReasonTaken)
	})
}

// Rule (Hold of a Multi): Extend makes sure that at least d is left of every part.
func TestMultiExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := newScript().open(t)
		hold := mustLock(t, holdfast.Multi(locks.Mutex("a", holdfast.Fixed()), locks.Mutex("b", holdfast.Fixed(), holdfast.TTL(time.Minute))))
		if err := hold.Extend(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		for _, p := range append(hold.Parts(), hold) {
			if p.Left() < time.Hour {
				t.Errorf("%q: %v left", p.Name(), p.Left())
			}
		}
		expect(t, hold.Extend(t.Context(), 25*time.Hour), holdfast.ErrTTL)
		expect(t, hold.Extend(t.Context(), 0), holdfast.ErrTTL)
		bounded := mustLock(t, holdfast.Multi(locks.Mutex("c"), locks.Mutex("d", holdfast.MaxHold(time.Minute))))
		expect(t, bounded.Extend(t.Context(), time.Hour), holdfast.ErrTTL, "MaxHold")
		mustUnlock(t, hold)
		expect(t, hold.Extend(t.Context(), time.Hour), holdfast.ErrReleased)
	})
}

// Rule (Hold of a Multi): its context ends with Unlock, and when any part is lost, with that as its cause. All parts are found in it, but
// no token: which one is meant only Held or Parts can tell.
func TestMultiContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		one, two := connect(t, server), connect(t, memlock.NewServer())
		hold := mustLock(t, holdfast.Multi(one.Mutex("a"), two.Mutex("b")))
		outer := mustLock(t, one.Mutex("outer"))
		type key struct{}
		ctx := hold.Context(context.WithValue(outer.Context(t.Context()), key{}, "kept"))
		if holdfast.Token(ctx) != 0 {
			t.Errorf("the context carries token %d: of which lock?", holdfast.Token(ctx))
		}
		if ctx.Value(key{}) != "kept" {
			t.Error("the parent's values are gone")
		}
		for c, name := range map[*holdfast.Client]string{one: "a", two: "b"} {
			if h, ok := c.Held(ctx, name); !ok || h.Name() != name || h.Token() == 0 {
				t.Errorf("Held(%q): %v, %v", name, h, ok)
			}
		}
		if h, ok := one.Held(ctx, "outer"); !ok || h != outer {
			t.Errorf("Held of the lock around it: %v, %v", h, ok)
		}
		inner := mustLockIn(ctx, t, one.Mutex("z"))
		if got := holdfast.Token(inner.Context(ctx)); got != inner.Token() {
			t.Errorf("inside a lock inside a Multi: token %d, want %d", got, inner.Token())
		}
		mustUnlock(t, hold)
		expect(t, context.Cause(ctx), holdfast.ErrReleased)
		if _, ok := one.Held(ctx, "a"); ok {
			t.Error("Held finds a part that was unlocked")
		}

		for i, c := range []*holdfast.Client{one, two} {
			hold := mustLock(t, holdfast.Multi(one.Mutex("a"), two.Mutex("b")))
			ctx := hold.Context(t.Context())
			h, _ := c.Held(ctx, []string{"a", "b"}[i])
			if err := c.Break(t.Context(), h.Name(), h.Token()); err != nil {
				t.Fatal(err)
			}
			if lost := expectLost(t, context.Cause(ctx), holdfast.ReasonBroken); lost.Name != h.Name() {
				t.Errorf("the cause is the loss of %q, want %q", lost.Name, h.Name())
			}
			expectLost(t, hold.Unlock(), holdfast.ReasonBroken)
		}
		ended, cancel := context.WithCancel(t.Context())
		child := mustLock(t, holdfast.Multi(one.Mutex("a"), two.Mutex("b"))).Context(ended)
		cancel()
		expect(t, context.Cause(child), context.Canceled)
	})
}

// Rule (Multi): losing one part is losing it. Err, Check, Unlock and Do say so, and the parts that are left are released all the same.
func TestMultiLosesAPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		locks, operator := connect(t, server), connect(t, server)
		err := holdfast.Do(t.Context(), holdfast.Multi(locks.Mutex("a"), locks.Mutex("b"), locks.Mutex("c")), func(ctx context.Context) error {
			b, _ := locks.Held(ctx, "b")
			if err := operator.Break(t.Context(), "b", b.Token(), holdfast.Now()); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			return errFull
		})
		if lost := expectLost(t, err, holdfast.ReasonBroken); lost.Name != "b" {
			t.Errorf("lost %q", lost.Name)
		}
		expect(t, err, errFull)
		hold := mustLock(t, holdfast.Multi(locks.Mutex("a"), locks.Mutex("b"), locks.Mutex("c")))
		if err := operator.Break(t.Context(), "b", hold.Parts()[1].Token()); err != nil {
			t.Fatal(err)
		}
		expectLost(t, hold.Err(), holdfast.ReasonBroken)
		expectLost(t, hold.Check(t.Context()), holdfast.ReasonBroken)
		mustUnlock(t, hold.Parts()[0])                              // by mistake
		expectLost(t, hold.Err(), holdfast.ReasonBroken)            // a loss weighs more than an Unlock
		expectLost(t, hold.Unlock(), holdfast.ReasonBroken)         // and here too
		mustUnlock(t, mustTry(t.Context(), t, operator.Mutex("c"))) // the others were released
	})
}

// Rule (Multi): Unlock releases all parts, the last one first, whatever the store says of the others, and tells all that went wrong.
func TestMultiUnlocksInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		locks := s.open(t)
		hold := mustLock(t, holdfast.Multi(locks.Mutex("c"), locks.Mutex("a"), locks.Mutex("b"), locks.Mutex("d")))
		s.release = func(_ context.Context, r *driver.Request, _ int) error {
			if r.Name == "b" || r.Name == "c" {
				return &driver.Refused{Err: errFull}
			}
			return s.free(r)
		}
		err := hold.Unlock()
		expect(t, err, errFull, `unlock "b"`, `unlock "c"`)
		var order string
		for _, r := range s.asked("release") {
			if !strings.Contains(order, r.name) { // a repetition in the background may come between
				order += r.name
			}
		}
		if order != "dcba" {
			t.Errorf("released in the order %s", order)
		}
		s.change(func() { s.release = nil })
	})
}

// Rule of ownership 3: a Multi inside its own context nests, part by part, and so does a single part; the store is not asked again.
func TestMultiNests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.promises.Shared = true
		locks := s.open(t)
		m := holdfast.Multi(locks.Mutex("a"), locks.RWMutex("b"))
		outer := mustLock(t, m)
		ctx := outer.Context(t.Context())
		inner := mustLockIn(ctx, t, m)
		if inner.Count() != 2 || outer.Count() != 2 {
			t.Errorf("counts %d and %d", outer.Count(), inner.Count())
		}
		single := mustLockIn(inner.Context(ctx), t, locks.RWMutex("b").Reader())
		if single.Count() != 3 || outer.Count() != 2 { // the whole is entered as often as its least part
			t.Errorf("counts %d and %d", single.Count(), outer.Count())
		}
		for _, h := range []*holdfast.Hold{single, inner, outer} {
			mustUnlock(t, h)
		}
		if n := len(s.asked("acquire")); n != 2 || s.held() != 0 {
			t.Errorf("the store was asked %d times, %d held", n, s.held())
		}
	})
}

// Rule (Multi): nothing of the waiting stays behind: no context that a part would have to end, no alarm, no lease.
func TestMultiLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := connect(t, memlock.NewServer())
		hold, err := holdfast.Multi(locks.Mutex("a"), locks.Mutex("b"), locks.Mutex("c")).Lock(t.Context()) // which lives on
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for _, p := range hold.Parts() {
			if n := p.Contexts(); n != 0 {
				t.Errorf("%q keeps %d contexts", p.Name(), n)
			}
		}
		mustUnlock(t, hold)
		if tenures, leases, alarms, running := locks.Residue(); tenures+leases+alarms+running != 0 {
			t.Errorf("left over: %d tenures, %d leases, %d alarms, %d running", tenures, leases, alarms, running)
		}
	})
}
