package guard_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/servers"
	"holdfast.dev/redislock/internal/guard"
	"holdfast.dev/redislock/internal/redisconn"
)

// follow starts a replica, and waits until its primary has heard from it.
func follow(t *testing.T, primary *servers.Redis) *servers.Redis {
	t.Helper()
	replica := start(t, servers.RedisFollows(primary.Addr()))
	until(t, "the replica has been heard of", func() bool {
		info, err := primary.Info(within(t), "replication")
		good, counted := info["min_slaves_good_slaves"]
		return err == nil && strings.Contains(info["slave0"], ",state=online,") && (!counted || good == "1")
	})
	return replica
}

// Rule 5: without proof that a replica follows, the library says so; Call gets the proof, and is answered. Without the replica there is none.
func TestProof(t *testing.T) {
	t.Parallel()
	primary := start(t) // which refuses nothing by itself: it is the library that does
	replica := follow(t, primary)
	s := join(t, primary.Addr(), guarded(5*time.Second))
	st := opened(t, s)
	if st.Lag == 0 || st.Fence() != st.Lag+2*time.Second || st.MaxTTL() != 5*time.Second-st.Fence() {
		t.Errorf("it was opened as %+v", st)
	}
	do(t, primary, "HSET", storeKey, "replicas", "1") // as a client of a primary that asks for one writes it
	raw := func() guard.Reply {
		m, err := s.Do(within(t), fnGives, []string{"thing", storeKey}, []string{st.ID, "1000"})
		if err != nil {
			t.Fatal(err)
		}
		r, ok := guard.ReadReply(m)
		if !ok {
			t.Fatal("the answer is none of ours")
		}
		return r
	}
	until(t, "contact is not proved", func() bool { return raw().Says == guard.SaysUnproved })
	if r := says(t, s, st, fnGives, guard.SaysGuarded); r.Span(0) == 0 { // the first reign with a replica: what was before is not known
		t.Error("nothing is left of the guard")
	}
	replica.Kill()
	until(t, "contact is lost", func() bool { return raw().Says == guard.SaysUnproved })
	r, err := ask(t, s, st, fnGives, time.Second)
	if !errors.Is(err, redisconn.ErrReplicas) || !driver.Answered(err) {
		t.Errorf("without a replica: %+v, %v", r, err)
	}
	if s.State() != nil {
		t.Error("it is not opened again, though the settings may have changed")
	}
}

// Rule 6: a guard without room for the fence is refused.
func TestShortGuard(t *testing.T) {
	t.Parallel()
	primary := start(t, servers.RedisSet("min-replicas-to-write", "1"), servers.RedisSet("min-replicas-max-lag", "1"))
	follow(t, primary)
	_, err := join(t, primary.Addr(), guarded(3*time.Second)).Opened(within(t))
	var short *guard.ShortGuardError
	if !errors.As(err, &short) || !driver.Answered(err) || short.Guard != 3*time.Second || short.Fence != 3*time.Second {
		t.Errorf("opened, or: %v", err)
	}
}
