package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/redislock"
)

// guardTime is the guard of most tests here: no shorter, because one call proves no more than a second of it.
const guardTime = 3 * time.Second

// An insistent asks again after an answer that did not come, as the core does.
type insistent struct{ *redislock.Store }

func (s insistent) Acquire(ctx context.Context, r *driver.Request) (*driver.Grant, error) {
	for {
		grant, err := s.Store.Acquire(ctx, r)
		if err == nil || driver.Answered(err) || ctx.Err() != nil {
			return grant, err
		}
		driver.Sleep(ctx, 10*time.Millisecond)
	}
}

// tryOnce asks for a lock without waiting.
func tryOnce(t *testing.T, s driver.Store, r *driver.Request) (*driver.Grant, error) {
	t.Helper()
	now := *r
	now.NoWait = true
	return s.Acquire(inTime(t), &now)
}

// guardOver waits until a store grants: as waiting clients do it asks now and then, which proves that time has passed.
func guardOver(t *testing.T, s driver.Store, name string) {
	t.Helper()
	r := ask(name, "prober", time.Second)
	until(t, "the guard is over", func() bool {
		_, err := tryOnce(t, s, r)
		return err == nil
	})
	release(t, s, r)
}

// crash is a kill -9 and a new start, with nothing on disk: all is forgotten. It returns when the server was not there.
func crash(t *testing.T, s *servers.Redis) driver.Instant {
	t.Helper()
	s.Kill()
	dead := driver.Boot().Now()
	if err := s.Restart(inTime(t)); err != nil {
		t.Fatal(err)
	}
	return dead
}

// A server that has forgotten everything grants nothing before the guard is over: what it granted before may still be valid. Who comes
// meanwhile is told how long it takes; who waits is served afterwards, in order.
func TestGuardAfterACrash(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	params := "guard=" + guardTime.String()
	s, other := insistent{dial(t, server.Addr(), params)}, insistent{dial(t, server.Addr(), params)}
	guardOver(t, s, "lock")
	r := ask("lock", "holder", guardTime)
	before := take(t, s, r)
	asked := s.Clock().Now()

	started := crash(t, server)
	var guarded *driver.Guarded
	_, err := tryOnce(t, other, ask("lock", "newcomer", time.Second))
	if !errors.As(err, &guarded) || guarded.Left <= 0 || guarded.Left > guardTime || !driver.Answered(err) {
		t.Fatalf("during the guard: %v", err)
	}
	var waiters []*waiter
	var told atomic.Int64
	for i := range 5 {
		store := []driver.Store{s, other}[i%2]
		w := queue(t, store, ask("lock", fmt.Sprint("waiter ", i), time.Minute))
		waiters = append(waiters, w)
	}
	last := ask("lock", "last", time.Minute)
	last.Waiting = func(p driver.Progress) {
		if p.Guard > 0 && p.Guard <= guardTime && p.Place == 6 {
			told.Store(1)
		}
	}
	waiters = append(waiters, begin(t, other, last))
	until(t, "a waiter is told of the guard and its place", func() bool { return told.Load() == 1 })
	info, err := other.Inspect(t.Context(), "lock", driver.Exclusive)
	if err != nil || info.Guard <= 0 || info.Guard > guardTime || len(info.Waiters) != 6 || len(info.Holders) != 0 {
		t.Errorf("inspected during the guard: %+v, %v", info, err)
	}

	token := before.Token
	for i, w := range waiters {
		grant := w.served()
		if i == 0 {
			if since := w.granted.Sub(started); since < guardTime {
				t.Errorf("granted %v after the server came back, before the guard of %v was over", since, guardTime)
			}
			if end := asked.Add(guardTime); w.granted.Before(end) {
				t.Error("granted while the hold from before could be valid")
			}
		}
		if grant.Token <= token {
			t.Errorf("the token %d follows %d", grant.Token, token)
		}
		token = grant.Token
		for _, later := range waiters[i+1:] {
			later.waits()
		}
		release(t, []driver.Store{s, other, s, other, s, other}[i], w.r)
	}
	if _, err := tryOnce(t, s, ask("lock", "newcomer", time.Second)); err != nil {
		t.Errorf("after the guard: %v", err)
	}
}

// While the guard is on what is known goes on: a server that has its data back lets holders renew and release, but hands nothing over.
func TestGuardKeepsWhatIsKnown(t *testing.T) {
	t.Parallel()
	const guardTime = 2 * guardTime // so that a busy machine renews in time
	server := startRedis(t, servers.RedisSet("appendonly", "yes"), servers.RedisSet("appendfsync", "always"))
	s := insistent{dial(t, server.Addr(), "guard="+guardTime.String())}
	guardOver(t, s, "probe")
	kept, freed := ask("kept", "holder", guardTime), ask("freed", "holder", guardTime)
	grant := take(t, s, kept)
	lease := grant.Lease
	take(t, s, freed)
	waiter := queue(t, s, ask("freed", "waiter", guardTime))
	started := crash(t, server)
	left, err := lease.Renew(inTime(t), guardTime)
	if err != nil && !driver.Answered(err) {
		left, err = lease.Renew(inTime(t), guardTime) // on a new connection
	}
	if err != nil || left < guardTime-time.Second {
		t.Errorf("a hold that the server still knows is renewed by %v, %v", left, err)
	}
	release(t, s, freed)
	waiter.waits()
	if _, err := tryOnce(t, s, ask("freed", "newcomer", time.Second)); !errors.As(err, new(*driver.Guarded)) {
		t.Errorf("a newcomer during the guard: %v", err)
	}
	again := *kept // as one whose first answer was lost: it may have run out, and been granted to somebody else, where nobody knows of it any more
	again.NoWait = true
	if grant, err := s.Acquire(inTime(t), &again); !errors.As(err, new(*driver.Guarded)) {
		t.Errorf("a holder that asks again: %+v, %v", grant, err)
	}
	until(t, "the guard is over", func() bool { // and it is renewed all the time
		if _, err := lease.Renew(inTime(t), guardTime); err != nil {
			t.Fatalf("a renewal during the guard: %v", err)
		}
		select {
		case <-waiter.done:
			return true
		default:
			return false
		}
	})
	waiter.served()
	if since := waiter.granted.Sub(started); since < guardTime {
		t.Errorf("handed over %v after the start, before the guard was over", since)
	}
	release(t, s, kept)
}

// Lost functions are no restart: the server knows that it is the same reign. Nor is a flush of the data, by a server that remembers.
func TestNoGuardAfterFlushes(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	s := dial(t, server.Addr(), "guard="+guardTime.String())
	guardOver(t, s, "probe")
	grant := take(t, s, ask("lock", "holder", time.Second))
	for _, flush := range [][]string{{"FUNCTION", "FLUSH"}, {"SCRIPT", "FLUSH"}, {"FLUSHALL"}} {
		command(t, server, flush...)
		next, err := tryOnce(t, s, ask("lock "+flush[0], "newcomer", time.Second))
		if err != nil {
			t.Errorf("after %v: %v", flush, err)
			continue
		}
		if next.Token <= grant.Token {
			t.Errorf("after %v the token is %d, before it was %d", flush, next.Token, grant.Token)
		}
		grant = next
	}
}

// A server that has been up for longer than the guard, and never replicated, has forgotten nothing: a new store on it is open at once.
func TestNoGuardOnAServerThatIsUp(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	up := func() string {
		info, err := server.Info(t.Context(), "server")
		if err != nil {
			t.Fatal(err)
		}
		return info["uptime_in_seconds"]
	}
	young := dial(t, server.Addr(), "guard=1m&prefix=young:")
	if _, err := tryOnce(t, young, ask("lock", "newcomer", time.Second)); !errors.As(err, new(*driver.Guarded)) {
		t.Errorf("a guard that is longer than the server is up: %v", err)
	}
	off := dial(t, server.Addr(), "guard=0&prefix=off:")
	take(t, off, ask("lock", "newcomer", time.Second))
	until(t, "the server is up for 2 seconds", func() bool { return up() >= "2" })
	old := dial(t, server.Addr(), "guard=1s&prefix=old:")
	take(t, old, ask("lock", "newcomer", time.Second))

	startRedis(t, servers.RedisReplicaOf(server))
	replicated := dial(t, server.Addr(), "guard=1s&prefix=replicated:")
	if _, err := tryOnce(t, replicated, ask("lock", "newcomer", time.Second)); !errors.As(err, new(*driver.Guarded)) {
		t.Errorf("a server with a replica, however long it is up: %v", err)
	}
}

// A clock that is set forward proves nothing: one call counts for a second of the guard at most.
func TestGuardAndTheClock(t *testing.T) {
	t.Parallel()
	server := startRedis(t, servers.RedisClock())
	s := dial(t, server.Addr(), "guard=20s")
	r := ask("lock", "newcomer", time.Second)
	var left time.Duration
	guardLeft := func() time.Duration {
		t.Helper()
		var guarded *driver.Guarded
		if _, err := tryOnce(t, s, r); !errors.As(err, &guarded) {
			t.Fatalf("the guard is over: %v", err)
		}
		return guarded.Left
	}
	left = guardLeft()
	for _, step := range []time.Duration{time.Minute, -time.Hour, 2 * time.Hour, -time.Minute} {
		begun := time.Now()
		if err := server.StepClock(step); err != nil {
			t.Fatal(err)
		}
		now := guardLeft()
		if now < left-time.Second-time.Since(begun) || now > left {
			t.Errorf("with the clock stepped by %v the guard has %v left, before it had %v", step, now, left)
		}
		left = now
	}
}

// guard=0 grants at once, also after a crash; and says that it does not survive one.
func TestGuardOff(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	s := dial(t, server.Addr(), "guard=0")
	g, err := s.Guarantees(t.Context())
	if err != nil || g.SurvivesRestart || g.Fencing != driver.FencingVolatile || g.MaxTTL != redislock.MaxTTL {
		t.Errorf("guarantees %+v, %v", g, err)
	}
	before := take(t, s, ask("lock", "holder", time.Hour))
	crash(t, server)
	var after *driver.Grant
	until(t, "the client is connected again", func() bool {
		after, err = tryOnce(t, s, ask("lock", "newcomer", time.Hour))
		return err == nil || driver.Answered(err)
	})
	if err != nil || after.Token <= before.Token {
		t.Errorf("after a crash: %v, %v", after, err)
	}
}

// A TTL above the guard is never granted, nor renewed to.
func TestGuardBoundsTTLs(t *testing.T) {
	t.Parallel()
	s := dial(t, startRedis(t).Addr(), "guard=500ms")
	guardOver(t, s, "probe")
	r := ask("lock", "holder", time.Hour)
	grant := take(t, s, r)
	if grant.TTL > 500*time.Millisecond {
		t.Errorf("granted for %v", grant.TTL)
	}
	if left, err := grant.Lease.Renew(t.Context(), time.Hour); left > 500*time.Millisecond || err != nil {
		t.Errorf("renewed by %v, %v", left, err)
	}
	release(t, s, r)
}

// A replica that was promoted before anything was written, and whose backlog was freed since, looks like a server that never replicated: no
// replicas, no second id, offset 0. But it has received something, and may know less than its primary did.
func TestGuardOfAFormerReplica(t *testing.T) {
	t.Parallel()
	primary := startRedis(t)
	former := startRedis(t, servers.RedisReplicaOf(primary), servers.RedisSet("repl-backlog-ttl", "1"))
	if err := former.Promote(inTime(t)); err != nil {
		t.Fatal(err)
	}
	until(t, "nothing tells that it was a replica, and it has been up for longer than the guard", func() bool {
		info, err := former.Info(t.Context(), "replication", "server")
		if err != nil || info["master_repl_offset"] != "0" || info["role"] != "master" {
			t.Fatalf("it is no such server: %v, %v", info, err)
		}
		return strings.Trim(info["master_replid2"], "0") == "" && info["uptime_in_seconds"] >= "3"
	})
	s := dial(t, former.Addr(), "guard=1s")
	if _, err := tryOnce(t, s, ask("lock", "newcomer", time.Second)); !errors.As(err, new(*driver.Guarded)) {
		t.Errorf("a server that was a replica: %v", err)
	}
}

// While the guard is on a holder that believes in its hold renews it; one that only claims what it may have had does not: by then it may have
// run out, and be somebody else's, where nobody knows of it any more.
func TestGuardedClaims(t *testing.T) {
	t.Parallel()
	server := startRedis(t, persistent...)
	s := insistent{dial(t, server.Addr(), "guard=20s&prefix=p:")}
	r := ask("lock", "holder", 10*time.Second)
	begin(t, s, r).served()
	id, _ := command(t, server, "HGET", "p:store", "id").(string)
	renew := func(ttl string) string {
		t.Helper()
		answer, _ := command(t, server, "FCALL", "holdfast_1_renew", "2", "p:lock:{lock}", "p:store", id, r.Attempt.Reveal(), ttl).([]any)
		if len(answer) == 0 {
			t.Fatal("no answer")
		}
		return fmt.Sprint(answer[0])
	}
	if got := renew("-10000000"); got != "G" {
		t.Errorf("a claim before the restart is answered %s", got)
	}
	crash(t, server)
	if got := renew("-10000000"); got != "U" {
		t.Errorf("a claim during the guard is answered %s", got)
	}
	if got := renew("10000000"); got != "G" {
		t.Errorf("a renewal during the guard is answered %s", got)
	}
}
