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
	"holdfast.dev/locktest/servers"
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

// A TTL is no longer than the guard less the fence: from when the server is first seen with a replica, also for clients that opened the store
// before, and for renewals.
func TestFenceBoundsTTLs(t *testing.T) {
	t.Parallel()
	const guard = 10 * time.Second
	server := startRedis(t)
	s := dial(t, server.Addr(), fmt.Sprintf("guard=%v", guard))
	guardOver(t, s, "probe")
	before := take(t, s, ask("before", "holder", time.Hour))
	if before.TTL != guard {
		t.Errorf("without replicas it is granted for %v", before.TTL)
	}
	replica := startRedis(t, servers.RedisReplicaOf(server))
	until(t, "the server is seen with its replica", func() bool {
		tryOnce(t, s, ask("look", "looker", time.Second)) // its first replica gives a server a new id: the guard is on
		lag := command(t, server, "HGET", "holdfast:store", "lag")
		return lag != nil && lag != "0"
	})
	until(t, "the guard is over", func() bool {
		_, err := tryOnce(t, s, ask("look", "looker", time.Second))
		return err == nil
	})
	r := ask("after", "holder", time.Hour)
	grant := take(t, s, r)
	if grant.TTL > guard-usualFence {
		t.Errorf("with a replica it is granted for %v", grant.TTL)
	}
	if left, err := grant.Lease.Renew(inTime(t), time.Hour); err != nil || left > guard-usualFence {
		t.Errorf("with a replica it is renewed for %v, %v", left, err)
	}
	old := dial(t, server.Addr(), "") // asks for nothing: it takes what there is
	if g, err := old.Guarantees(inTime(t)); err != nil || g.MaxTTL != guard-usualFence {
		t.Errorf("the longest TTL is said to be %v, %v", g.MaxTTL, err)
	}
	if err := replica.Close(); err != nil {
		t.Error(err)
	}
}

// Open refuses a guard that leaves no room for any TTL, and leaves nothing behind.
func TestShortGuard(t *testing.T) {
	t.Parallel()
	g := startNodes(t, 2, minReplicas...)
	_, err := holdfast.Open(inTime(t), "redis://"+g.all[0].Addr()+"?guard=3s")
	var short *redislock.ShortGuardError
	if !errors.As(err, &short) || short.Guard != 3*time.Second || short.Fence != shortFence || !driver.Answered(err) {
		t.Fatalf("a guard as long as the fence: %v", err)
	}
	if keys := command(t, g.all[0], "EXISTS", "holdfast:store"); keys != int64(0) {
		t.Error("what was refused is in the store")
	}
	openLocks(t, "redis://"+g.all[0].Addr()+"?guard=10s")
}

// What was carried out behind a WAIT that heard from too few is told, and not thrown away: a lock that was granted is its caller's.
func TestGrantedBehindAWait(t *testing.T) {
	t.Parallel()
	g := startNodes(t, 3, minReplicas[1], minReplicasOf(2))
	first := g.join(0, "guard=10s")
	first.ready()
	g.do(g.all[2].Stop())
	defer g.all[2].Continue()
	command(t, g.all[0], "CONFIG", "SET", "min-replicas-to-write", "1")
	g.join(0, "guard=10s") // the store needs one now, and the first client does not know
	rested := time.Now()
	until(t, "the last proof is old", func() bool { return time.Since(rested) > 2*time.Second })
	hold, err := first.Mutex("lock").TryLock(inTime(t))
	if err == nil {
		g.do(hold.Unlock())
	}
	info, wrong := first.Inspect(inTime(t), "lock")
	if wrong != nil || len(info.Holders) > 0 {
		t.Errorf("held by nobody's: %+v, %v; TryLock said %v", info, wrong, err)
	}
}
