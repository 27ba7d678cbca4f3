package redislock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/locktest/servers"
)

// long is how often something is done that is done n times: five times as often with HOLDFAST_LONG=1, and less with the race detector,
// which finds nothing more by repetition.
func long(n int) int {
	switch {
	case os.Getenv("HOLDFAST_LONG") != "":
		return 5 * n
	case raceDetector:
		return n / 5
	}
	return n
}

// A counting is a lock that is taken again and again, and tokens that must rise.
type counting struct {
	t     *testing.T
	p     *party
	last  uint64
	holds int
}

func (c *counting) take(doing string) {
	c.t.Helper()
	if err := c.try(inTime(c.t), doing); err != nil {
		c.t.Fatalf("%s: %v", doing, err)
	}
}

func (c *counting) try(ctx context.Context, doing string) error {
	c.t.Helper()
	hold, err := c.p.Mutex("lock", holdfast.TTL(100*time.Millisecond), holdfast.Fixed()).Lock(ctx)
	if err != nil {
		return err
	}
	if hold.Token() <= c.last {
		c.t.Fatalf("%s: the token %d follows %d, after %d holds", doing, hold.Token(), c.last, c.holds)
	}
	c.last = hold.Token()
	c.holds++
	if c.holds%3 > 0 { // else it is still held when the server dies
		hold.Unlock()
	}
	return nil
}

func seeded(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// Tokens rise over 200 kills (−9), after each of which the server has its data or none, and another clock: set back by any amount where
// it has its data, by less than the guard where it has none, and forward.
func TestTokensRiseOverKills(t *testing.T) {
	t.Parallel()
	const guard = 150 * time.Millisecond
	g := startNodes(t, 1, servers.RedisSet("appendonly", "yes"), servers.RedisSet("appendfsync", "always"), servers.RedisClock())
	random := seeded(t)
	c := &counting{t: t, p: g.join(0, fmt.Sprintf("guard=%v", guard))}
	var clock, peak time.Duration // by which it is off, and was at most
	for i := range long(200) {
		c.take(fmt.Sprintf("before kill %d", i))
		c.take(fmt.Sprintf("before kill %d", i))
		g.all[0].Kill()
		step, what := time.Duration(random.Int64N(int64(10*time.Second))), "forward"
		switch random.IntN(4) {
		case 0:
			g.do(os.RemoveAll(filepath.Join(g.all[0].Dir(), "appendonlydir")))
			step, what = peak-clock-time.Duration(random.Int64N(int64(guard/2))), "and without data"
		case 1:
			step, what = -step, "back"
		case 2:
			step, what = 0, "on"
		}
		clock += step
		peak = max(peak, clock)
		g.do(g.all[0].StepClock(step))
		g.do(g.all[0].Restart(inTime(t)))
		c.take(fmt.Sprintf("kill %d, the clock %v %s", i, step, what))
	}
	t.Logf("%d holds, the last token is %d", c.holds, c.last)
}

// Tokens rise over 20 failovers, by kill and by FAILOVER, with grants that the new primary never hears of; and the clocks of the nodes are
// stepped meanwhile, so that they differ by less than the guard, as Guarantees asks for.
func TestTokensRiseOverFailovers(t *testing.T) {
	t.Parallel()
	const guard = shortFence + 300*time.Millisecond
	g := startNodes(t, 3, append([]servers.RedisOption{servers.RedisClock()}, minReplicas...)...)
	random := seeded(t)
	c := &counting{t: t, p: g.join(0, fmt.Sprintf("guard=%v", guard))}
	primary := 0
	skew := make([]time.Duration, 3)
	for i := range long(20) {
		next := (primary + 1 + random.IntN(2)) % 3
		third := 3 - primary - next
		step := time.Duration(random.Int64N(int64(guard))) - guard/2
		g.do(g.all[next].StepClock(step - skew[next]))
		skew[next] = step
		doing := fmt.Sprintf("failover %d, from %d to %d, clocks off by %v", i, primary, next, skew)
		c.take(doing)
		if random.IntN(3) > 0 {
			g.isolate(primary)
			soon, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			for range 3 {
				c.try(soon, doing) // until it is not proved any more that this is the primary
			}
			cancel()
			g.all[primary].Kill()
			g.promote(next, third)
			g.heal(primary)
			g.do(g.all[primary].RestartAs(inTime(t), "replicaof 127.0.0.1 "+portOf(g.links[next].Addr())))
		} else {
			g.do(g.all[primary].FailoverTo(inTime(t), g.links[next].Addr()))
			g.do(g.all[third].Follow(inTime(t), g.links[next].Addr()))
		}
		g.do(g.all[primary].Linked(inTime(t)))
		g.do(g.all[third].Linked(inTime(t)))
		g.followed(next, 2)
		c.p.moves(next)
		primary = next
		c.take(doing)
	}
	t.Logf("%d holds, the last token is %d", c.holds, c.last)
}
