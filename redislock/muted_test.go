package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/redislock"
)

// A new primary is muted, then guarded, then open. Muted it renews nothing: the old primary may still grant what it would renew. Guarded it
// renews and releases what it knows, and what is released goes to nobody. Whoever waits is served when it is open.
func TestMutedGuardedOpen(t *testing.T) {
	t.Parallel()
	const ttl, guard = 8 * time.Second, 11 * time.Second
	g := startNodes(t, 3, minReplicas...)
	way := newProxy(t)
	g.do(way.Retarget(g.all[0].Addr()))
	s := insistent{dial(t, way.Addr(), fmt.Sprintf("guard=%v&timeout=1s", guard))}
	guardOver(t, s, "probe")
	held, freed := ask("held", "holder", ttl), ask("freed", "holder", ttl)
	lease := take(t, s, held).Lease
	take(t, s, freed)
	waiter := queue(t, s, ask("freed", "waiter", ttl))
	for _, name := range []string{"held", "freed"} {
		key := "holdfast:lock:{" + name + "}"
		until(t, "a replica knows "+name, func() bool { return command(t, g.all[1], "EXISTS", key) == int64(1) })
	}
	g.all[0].Kill()
	promoted := s.Clock().Now()
	g.promote(1, 2)
	g.do(way.Retarget(g.all[1].Addr()))
	way.Cut()

	renewed := func() bool {
		_, err := lease.Renew(inTime(t), ttl)
		if errors.Is(err, driver.ErrGone) {
			t.Fatalf("a hold that the new primary knows is gone: %v", err)
		}
		return err == nil
	}
	until(t, "a renewal is answered", renewed)
	if since := s.Clock().Now().Sub(promoted); since < shortFence {
		t.Errorf("renewed %v after the promotion, within the fence of %v", since, shortFence)
	}
	release(t, s, freed)
	if _, err := tryOnce(t, s, ask("never used", "newcomer", time.Second)); !errors.As(err, new(*driver.Guarded)) {
		t.Errorf("a newcomer during the guard: %v", err)
	}
	info, err := s.Inspect(inTime(t), "freed", driver.Exclusive)
	if err != nil || len(info.Holders) != 0 || info.Guard <= 0 || !strings.Contains(info.Why, "taken over") {
		t.Errorf("released during the guard: %+v, %v", info, err)
	}
	for waits := true; waits; {
		renewed()
		select {
		case <-waiter.done:
			waits = false
		case <-time.After(guardTime / 10):
		}
	}
	waiter.served()
	if since := waiter.granted.Sub(promoted); since < guard {
		t.Errorf("granted %v after the promotion, before the guard of %v was over", since, guard)
	}
	release(t, s, waiter.r)
	release(t, s, held)
}

// A primary without contact to its replicas answers nobody: who tries is told why, who waits goes on when there is contact again, and so
// does a holder, if that is in time.
func TestUnproved(t *testing.T) {
	t.Parallel()
	g := startNodes(t, 3, minReplicas...)
	p := g.join(0, "guard=20s")
	holder := g.join(0, "guard=20s")
	hold := holder.lock(15 * time.Second)
	p.never(time.Second, "it is held")
	g.isolate(0)
	var err error
	until(t, "contact is lost", func() bool {
		var free *holdfast.Hold
		if free, err = p.Mutex("free").TryLock(inTime(t)); err == nil {
			g.do(free.Unlock())
		}
		return err != nil
	})
	var store *holdfast.StoreError
	if !errors.As(err, &store) || !errors.Is(err, redislock.ErrReplicas) || !strings.Contains(err.Error(), "replica") {
		t.Errorf("who tries is told %v", err)
	}
	if err := hold.Extend(inTime(t), 15*time.Second); !errors.Is(err, redislock.ErrReplicas) || errors.Is(err, holdfast.ErrLost) {
		t.Errorf("who extends is told %v", err)
	}
	got := make(chan error, 1)
	go func() {
		_, err := p.Mutex("free").Lock(inTime(t))
		got <- err
	}()
	soon, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := holder.Mutex("another").Lock(soon); !errors.Is(err, redislock.ErrReplicas) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who gives up is told %v", err)
	}
	g.heal(0)
	if err := <-got; err != nil {
		t.Errorf("who waits is told %v", err)
	}
	if err := hold.Extend(inTime(t), 15*time.Second); err != nil || hold.Err() != nil {
		t.Errorf("the hold goes on: %v, %v", err, hold.Err())
	}
	g.do(hold.Unlock())
}

// Contact is proved by what goes on anyway: the replicas are asked only after a rest.
func TestProofsAreRare(t *testing.T) {
	t.Parallel()
	g := startNodes(t, 2, minReplicasOf(1)) // max-lag is 10 s, so that a proof may be 2 s old
	p := g.join(0, "guard=20s")
	waits := func() (n int) { // how often WAIT was called
		info, err := g.all[0].Info(t.Context(), "commandstats")
		g.do(err)
		fmt.Sscanf(info["cmdstat_wait"], "calls=%d", &n)
		return n
	}
	p.ready()
	before, locked := waits(), 0
	for end := time.Now().Add(4 * time.Second); time.Now().Before(end); locked++ {
		p.ready()
	}
	if asked := waits() - before; asked > 4 || asked > locked/4 { // a busy machine may be late with an acknowledgement
		t.Errorf("of %d locks, one after the other, %d had to ask the replicas", locked, asked)
	}
	g.followed(0, 1)
	rested := time.Now()
	until(t, "the last proof is old", func() bool { return time.Since(rested) > 3*time.Second })
	before = waits()
	p.ready()
	if after := waits(); after == before {
		t.Errorf("after a rest the replicas were not asked")
	}
}

// A user who may not use WAIT is told so, when it is needed.
func TestProofNeedsWait(t *testing.T) {
	t.Parallel()
	g := startNodes(t, 2, minReplicasOf(1))
	command(t, g.all[0], "ACL", "SETUSER", "default", "-wait")
	_, err := g.join(0, "guard=10s").Mutex("lock").TryLock(inTime(t))
	refused(t, err, redislock.ErrPermission, true, "ACL")
}
