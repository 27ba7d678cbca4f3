package holdfast_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/memlock"
)

// Rule of ownership 3: siblings exclude each other also when a hold between them was unlocked: whoever lives below it has its place.
func TestReentryOutlivedHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock := connect(t, memlock.NewServer()).Mutex("a")
		a := mustLock(t, lock)
		actx := a.Context(t.Context())
		b := mustLockIn(actx, t, lock)
		c := mustLockIn(b.Context(actx), t, lock)
		d := mustLockIn(c.Context(actx), t, lock)
		for _, between := range []*holdfast.Hold{b, c} {
			mustUnlock(t, between)
			_, err := lock.TryLock(actx)
			expect(t, err, holdfast.ErrHeld)
			_, err = lock.TryLock(between.Context(actx)) // nests around, where it is taken too
			if err == nil {
				t.Error("two hold at once")
			}
		}
		mustUnlock(t, d)
		again := mustTry(actx, t, lock) // now it is free
		mustUnlock(t, a)                // the outermost goes first
		_, err := lock.TryLock(actx)    // ended
		if err == nil {
			t.Error("two hold at once")
		}
		_, err = lock.TryLock(t.Context())
		expect(t, err, holdfast.ErrHeld)
		mustUnlock(t, again)
		mustUnlock(t, mustTry(t.Context(), t, lock))
	})
}

// The same with Do alone: a function returns while one that it started is still inside.
func TestReentryOutlivedDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := connect(t, memlock.NewServer())
		inside, most := 0, 0
		work := func(context.Context) error {
			inside++
			most = max(most, inside)
			time.Sleep(time.Second)
			inside--
			return nil
		}
		var all sync.WaitGroup
		err := locks.Do(t.Context(), "a", func(outer context.Context) error {
			err := locks.Do(outer, "a", func(inner context.Context) error {
				hold := mustLockIn(inner, t, locks.Mutex("a"))
				all.Go(func() {
					work(inner)
					mustUnlock(t, hold)
				})
				return nil
			})
			if err != nil {
				return err
			}
			return locks.Do(outer, "a", work)
		})
		all.Wait()
		if err != nil || most != 1 {
			t.Errorf("%v, %d at once", err, most)
		}
	})
}

// A random tree of nested holds, unlocked in any order: of those that do not descend from one another, one at a time is good.
func TestReentryRandomTrees(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(300) {
			randomTree(t, connect(t, memlock.NewServer()).Mutex("a"), seed)
		}
	})
}

// A node is a hold of a random tree.
type node struct {
	hold   *holdfast.Hold
	ctx    context.Context
	parent *node // by whose context it was taken
}

// over reports whether n was taken by a context that descends from m's.
func (n *node) over(m *node) bool {
	for p := n; p != nil; p = p.parent {
		if p == m {
			return true
		}
	}
	return false
}

func randomTree(t *testing.T, lock *holdfast.Mutex, seed uint64) {
	random := func(n int) int { // a small generator of its own: the same on every version of Go
		seed = seed*6364136223846793005 + 1442695040888963407
		return int(seed>>33) % n
	}
	var all, live []*node
	for range 60 {
		if len(live) > 0 && random(2) == 0 {
			i := random(len(live))
			mustUnlock(t, live[i].hold)
			live = append(live[:i], live[i+1:]...)
			continue
		}
		n := &node{ctx: t.Context()}
		if len(all) > 0 && random(4) > 0 {
			n.parent = all[random(len(all))]
			n.ctx = n.parent.ctx
		}
		hold, err := lock.TryLock(n.ctx)
		if err != nil {
			continue
		}
		n.hold, n.ctx = hold, hold.Context(n.ctx)
		for _, other := range live {
			if !n.over(other) {
				t.Fatalf("seed %d: two hold at once, and neither is inside the other", seed)
			}
		}
		all, live = append(all, n), append(live, n)
	}
	for _, n := range live {
		mustUnlock(t, n.hold)
	}
}
