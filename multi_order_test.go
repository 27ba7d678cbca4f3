package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// A placed is a script with an identity of its own, for tests of the order in which locks are taken.
type placed struct {
	*script
	identify func(ctx context.Context, ask int) (string, error)
}

// place makes a store of that identity, which all scripts of one identity share.
func place(identity string) *placed {
	s := newScript()
	s.promises.Shared, s.promises.Permits = true, true
	return &placed{s, func(context.Context, int) (string, error) { return identity, nil }}
}

func (p *placed) Identity(ctx context.Context) (string, error) {
	ask := p.note(ctx, scriptCall{op: "identity"})
	return current(p.script, &p.identify)(ctx, ask)
}

func (p *placed) open(t testing.TB) *holdfast.Client {
	c := holdfast.New(p)
	t.Cleanup(func() { c.Close() })
	return c
}

// Rule of ownership 5: locks are taken in the order of their stores' identities, then of their names, a semaphore after the lock of
// its name, however they are given; the identity is asked for once.
func TestMultiOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		first, second := place("1"), place("2")
		late, early := second.open(t), first.open(t) // the order of opening does not count
		var order []string
		for _, p := range []*placed{first, second} {
			p.acquire = func(_ context.Context, r *driver.Request, _ int) (*driver.Grant, error) {
				id, _ := p.identify(nil, 0)
				order = append(order, fmt.Sprintf("%s%s%s", id, r.Name, r.Mode.String()[:1]))
				return p.grant(r, p.clock.Now()), nil
			}
		}
		parts := []holdfast.Locker{
			early.Mutex("b"), late.Mutex("a"), early.Semaphore("b", 1).Permits(1), late.RWMutex("c").Reader(), early.Mutex("d"),
			late.Semaphore("a", 1).Permits(1), late.Mutex("B"),
		}
		for range 20 {
			random.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			order = nil
			hold := mustLock(t, holdfast.Multi(parts...))
			if got, want := strings.Join(order, " "), "1be 1bp 1de 2Be 2ae 2ap 2cs"; got != want {
				t.Fatalf("taken in the order %s, want %s", got, want)
			}
			mustUnlock(t, hold)
		}
		if a, b := len(first.asked("identity")), len(second.asked("identity")); a != 1 || b != 1 {
			t.Errorf("identities were asked for %d and %d times", a, b)
		}
	})
}

// Rule of ownership 5: two who want the same locks never wait for each other, whatever they name first, through whatever clients. In a
// bubble a deadlock fails the test.
func TestMultiNeverDeadlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		var clients []*holdfast.Client
		for range 2 {
			server := memlock.NewServer()
			clients = append(clients, connect(t, server), connect(t, server))
		}
		var mu sync.Mutex // for the map only: its counts are the locks' affair
		inside := make(map[string]int)
		var all sync.WaitGroup
		for i := range uint64(16) {
			random := rand.New(rand.NewPCG(seed, i))
			all.Go(func() {
				for range 20 {
					var parts []holdfast.Locker
					var used []string
					for range 1 + random.IntN(4) {
						c, name := random.IntN(len(clients)), string(rune('a'+random.IntN(4)))
						parts = append(parts, clients[c].Mutex(name))
						used = append(used, fmt.Sprint(c/2, name))
					}
					hold := mustLock(t, holdfast.Multi(parts...))
					slices.Sort(used)
					if used = slices.Compact(used); len(used) != len(hold.Parts()) {
						t.Errorf("%d parts for %v", len(hold.Parts()), used)
					}
					mu.Lock()
					for _, u := range used {
						if inside[u]++; inside[u] != 1 {
							t.Errorf("%d hold %s", inside[u], u)
						}
					}
					mu.Unlock()
					time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
					mu.Lock()
					for _, u := range used {
						inside[u]--
					}
					mu.Unlock()
					mustUnlock(t, hold)
				}
			})
		}
		all.Wait()
		for _, c := range clients {
			if tenures, leases, alarms, _ := c.Residue(); tenures+leases+alarms != 0 {
				t.Errorf("left over: %d tenures, %d leases, %d alarms", tenures, leases, alarms)
			}
		}
	})
}

// Rule of ownership 5: a context that already holds a lock which others take later gets ErrDeadlock, at once; nothing is taken.
func TestMultiDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := place("1"), place("2")
		one, again, two := first.open(t), first.open(t), second.open(t)
		for what, c := range map[string]struct {
			held, wanted holdfast.Locker
			words        string
		}{
			"a later name":                {one.Mutex("b"), one.Mutex("a"), `already holds lock "b" of script://`},
			"a later store":               {two.Mutex("a"), one.Mutex("b"), `others take lock "b"`},
			"a later name, read":          {one.RWMutex("b").Reader(), one.RWMutex("a").Reader(), `lock "b"`},
			"permits after a lock":        {one.Semaphore("a", 2).Permits(1), one.Mutex("a"), `holds semaphore "a"`},
			"permits of the same":         {one.Semaphore("a", 2).Permits(1), one.Semaphore("a", 2).Permits(1), `holds semaphore "a"`},
			"permits beside their lock":   {holdfast.Multi(one.Mutex("a"), one.Mutex("b")), one.Semaphore("a", 2).Permits(1), `take semaphore "a"`},
			"itself, by another client":   {one.Mutex("a"), again.Mutex("a"), `cannot enter it again`},
			"a later name, from a Multi":  {holdfast.Multi(one.Mutex("b"), one.Mutex("c")), one.Mutex("a"), `others take lock "a" of script:// before it; take both with one Multi`},
			"one later name of several":   {one.Mutex("b"), holdfast.Multi(one.Mutex("d"), one.Mutex("a")), `lock "a"`},
			"one that nests, one that is": {one.Mutex("b"), holdfast.Multi(one.Mutex("b"), one.Mutex("a")), `lock "a"`},
		} {
			t.Log(what) // seen if it fails
			hold := mustLock(t, c.held)
			ctx := hold.Context(t.Context())
			before := len(first.asked("acquire")) + len(second.asked("acquire"))
			for _, lock := range []func(context.Context) (*holdfast.Hold, error){holdfast.Multi(c.wanted).Lock, holdfast.Multi(c.wanted).TryLock} {
				_, err := lock(ctx)
				expect(t, err, holdfast.ErrDeadlock, c.words)
				if errors.As(err, new(*holdfast.StoreError)) || errors.Is(err, holdfast.ErrHeld) {
					t.Errorf("confused with something else: %v", err)
				}
			}
			if n := len(first.asked("acquire")) + len(second.asked("acquire")); n != before {
				t.Errorf("the stores were asked %d times", n-before)
			}
			mustUnlock(t, hold)
		}
	})
}

// Rule of ownership 5: a context that holds what comes earlier, or what nests, or what has ended, or nothing, is free to go.
func TestMultiNoDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := place("1").open(t), place("2").open(t)
		for what, c := range map[string]struct{ held, wanted holdfast.Locker }{
			"an earlier name":          {one.Mutex("a"), one.Mutex("b")},
			"an earlier store":         {one.Mutex("b"), two.Mutex("a")},
			"permits before a lock":    {one.Semaphore("a", 1).Permits(1), one.Mutex("b")},
			"a lock before permits":    {one.Mutex("a"), one.Semaphore("a", 1).Permits(1)},
			"the same":                 {one.Mutex("a"), one.Mutex("a")},
			"read inside write":        {one.Mutex("a"), one.RWMutex("a").Reader()},
			"part of the same, in all": {holdfast.Multi(one.Mutex("a"), two.Mutex("b")), holdfast.Multi(one.Mutex("a"), two.Mutex("b"), two.Mutex("c"))},
		} {
			t.Log(what) // seen if it fails
			outer := mustLock(t, c.held)
			inner := mustLockIn(outer.Context(t.Context()), t, holdfast.Multi(c.wanted))
			mustUnlock(t, inner)
			mustUnlock(t, outer)
			ended := context.WithoutCancel(outer.Context(t.Context()))
			mustUnlock(t, mustLockIn(ended, t, holdfast.Multi(one.Mutex("Z"))))
		}
	})
}

// Rule: once it can say it the wait goes on; TryLock asks three times; what the store decides, and that the client is closed, is final.
func TestMultiIdentityAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := place("1")
		good := s.identify
		s.identify = func(ctx context.Context, ask int) (string, error) {
			if ask < 12 {
				return "", errCut
			}
			return good(ctx, ask)
		}
		locks := s.open(t)
		m := holdfast.Multi(locks.Mutex("a"), locks.Mutex("b"))
		_, err := m.TryLock(t.Context())
		expect(t, err, errCut, "identity")
		if n := len(s.asked("identity")); n != 3 {
			t.Errorf("TryLock asked %d times, want 3", n)
		}
		hold := mustLock(t, m)
		if n := len(s.asked("identity")); n != 12 {
			t.Errorf("asked %d times, want 12", n)
		}
		mustUnlock(t, hold)

		s = place("1")
		s.identify = func(context.Context, int) (string, error) { return "", &driver.Refused{Err: errFull} }
		begun := time.Now()
		_, err = holdfast.Multi(s.open(t).Mutex("a")).Lock(t.Context())
		expect(t, err, errFull, "identity")
		took(t, "a refusal", begun, 0)
		if n := len(s.asked("identity")); n != 1 {
			t.Errorf("asked %d times after a refusal", n)
		}
		closed := place("1").open(t)
		closed.Close()
		_, err = holdfast.Multi(closed.Mutex("a")).Lock(t.Context())
		expect(t, err, holdfast.ErrClosed)
	})
}

// Rule of ownership 5: the order also needs the identity of what the context holds; without it nothing is taken.
func TestMultiIdentityOfWhatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent, other := place("1"), place("2")
		silent.identify = func(context.Context, int) (string, error) { return "", errCut }
		outer := mustLock(t, silent.open(t).Mutex("a"))
		locks := other.open(t)
		_, err := holdfast.Multi(locks.Mutex("a")).TryLock(outer.Context(t.Context()))
		expect(t, err, errCut, "identity")
		if n := len(other.asked("acquire")); n != 0 {
			t.Errorf("taken all the same, %d times", n)
		}
		mustUnlock(t, outer)
		mustUnlock(t, mustTry(context.WithoutCancel(outer.Context(t.Context())), t, holdfast.Multi(locks.Mutex("a")))) // it counts no more
	})
}
