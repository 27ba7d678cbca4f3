package redislock_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/locktest/servers"
)

// Require(Correctness) accepts the deployments where the guard's assumptions hold, and no others; and says of each other what to do.
func TestRequireCorrectness(t *testing.T) {
	t.Parallel()
	set := servers.RedisSet
	least := func(n string) []servers.RedisOption {
		return []servers.RedisOption{set("min-replicas-to-write", n), set("min-replicas-max-lag", "2")}
	}
	for _, c := range []struct {
		name    string
		nodes   int
		options []servers.RedisOption
		spoil   func(t *testing.T, g *nodes)
		params  string
		missing []string // nil: it is accepted
	}{
		{name: "one server", nodes: 1},
		{name: "one server that keeps its data", nodes: 1, options: []servers.RedisOption{set("appendonly", "yes")}},
		{name: "one server without a guard", nodes: 1, params: "guard=0", missing: []string{"tokens are volatile", "restart", "guard=0"}},
		{name: "one server that evicts", nodes: 1, options: []servers.RedisOption{set("maxmemory-policy", "allkeys-lru")},
			missing: []string{"restart", "maxmemory-policy is allkeys-lru", "noeviction"}},
		{name: "a replica and no rule", nodes: 2, missing: []string{"failover", "min-replicas-to-write is 0", "2 nodes", "set it to 1"}},
		{name: "a replica", nodes: 2, options: least("1")},
		{name: "two replicas", nodes: 3, options: least("1")},
		{name: "three replicas and a rule for two", nodes: 4, options: least("1"), missing: []string{"min-replicas-to-write is 1", "4 nodes", "set it to 2"}},
		{name: "three replicas", nodes: 4, options: least("2")},
		{name: "a rule on the primary alone", nodes: 3, spoil: func(t *testing.T, g *nodes) {
			command(t, g.all[0], "CONFIG", "SET", "min-replicas-to-write", "1")
			command(t, g.all[0], "CONFIG", "SET", "min-replicas-max-lag", "2")
		}, missing: []string{"min-replicas-to-write is 0 on 127.0.0.1:"}},
		{name: "a replica that evicts", nodes: 3, options: least("1"), spoil: func(t *testing.T, g *nodes) {
			command(t, g.all[2], "CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
		}, missing: []string{"maxmemory-policy is volatile-ttl on 127.0.0.1:"}},
		{name: "a replica of a replica without the rule", nodes: 2, options: least("1"), spoil: func(t *testing.T, g *nodes) {
			last := startRedis(t, servers.RedisReplicaOf(g.all[1]))
			g.do(last.Linked(inTime(t)))
		}, missing: []string{"min-replicas-to-write is 0 on 127.0.0.1:", "3 nodes"}},
		{name: "a replica that is away", nodes: 2, spoil: func(t *testing.T, g *nodes) {
			g.all[1].Kill()
			until(t, "it is gone", func() bool {
				info, err := g.all[0].Info(t.Context(), "replication")
				return err == nil && info["connected_slaves"] == "0"
			})
		}, missing: []string{"failover", "has had a replica", "bring it back"}},
		{name: "a replica that is cut off", nodes: 3, options: least("1"), spoil: func(t *testing.T, g *nodes) {
			g.links[2].Refuse()
			g.links[2].Blackhole(netfault.Both) // nobody can ask it; it follows all the same
		}, missing: []string{"127.0.0.1:", "cannot be asked", "its settings are not known"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := startNodes(t, c.nodes, c.options...)
			if c.spoil != nil {
				c.spoil(t, g)
			}
			url := "redis://" + g.all[0].Addr() + "?" + c.params
			locks, err := holdfast.Open(inTime(t), url, holdfast.Require(holdfast.Correctness))
			if locks != nil {
				defer locks.Close()
			}
			if c.missing == nil {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			var lacks *holdfast.RequirementError
			if !errors.As(err, &lacks) {
				t.Fatalf("accepted, or: %v", err)
			}
			for _, words := range c.missing {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("%q is not said in: %v", words, err)
				}
			}
		})
	}
}

// A node that is down does not keep a program from starting that needs a safe deployment, if it was in order when it was last asked; one that
// nobody has ever asked does.
func TestRequireWhileANodeIsDown(t *testing.T) {
	t.Parallel()
	g := startNodes(t, 3, minReplicas...)
	sentinel := g.watch("guard=20s")
	openLocks(t, sentinel, holdfast.Require(holdfast.Correctness)).Close()
	for _, replica := range g.all[1:] {
		until(t, "what is known of the nodes is known to all", func() bool {
			text, _ := command(t, replica, "HGET", "holdfast:store", "nodes").(string)
			return strings.Count(text, "\n") == 2
		})
	}
	g.all[0].Kill()
	g.primary(0)
	var promises holdfast.Guarantees
	until(t, "a client is opened that needs a safe deployment", func() bool {
		locks, err := holdfast.Open(inTime(t), sentinel, holdfast.Require(holdfast.Correctness))
		if err != nil {
			if lacks := (*holdfast.RequirementError)(nil); errors.As(err, &lacks) {
				t.Fatalf("refused: %v", err)
			}
			return false // the failover is under way
		}
		defer locks.Close()
		promises, err = locks.Guarantees(t.Context())
		return err == nil
	})
	if text := strings.Join(promises.Beyond, "\n"); !strings.Contains(text, g.links[0].Addr()+" cannot be asked now") {
		t.Errorf("nothing is said of the node that is down: %s", text)
	}
	primary := g.primary(0)
	openLocks(t, "redis://"+g.all[primary].Addr()).Close() // who asks the server alone does not find the node, and forgets nothing
	openIn := func() error {                               // some Sentinels name the old primary for a while
		for {
			locks, err := holdfast.Open(inTime(t), sentinel, holdfast.Require(holdfast.Correctness))
			if err == nil {
				locks.Close()
			}
			if err == nil || errors.As(err, new(*holdfast.RequirementError)) {
				return err
			}
		}
	}
	g.do(openIn())
	until(t, "the new primary has a replica", func() bool {
		_, err := g.all[primary].Do(t.Context(), "HDEL", "holdfast:store", "nodes")
		return err == nil
	})
	if err := openIn(); err == nil {
		t.Error("a node that nobody has ever asked is trusted")
	}
}

// A node that is away counts, if it was seen before: four nodes with a setting that is good for three are not safe because one is away.
func TestRequireCountsThoseAway(t *testing.T) {
	t.Parallel()
	g := startNodes(t, 4, minReplicas...)
	url := "redis://" + g.all[0].Addr()
	open := func() error {
		locks, err := holdfast.Open(inTime(t), url, holdfast.Require(holdfast.Correctness))
		if err == nil {
			locks.Close()
		}
		return err
	}
	if err := open(); !errors.As(err, new(*holdfast.RequirementError)) {
		t.Fatalf("with four nodes: %v", err)
	}
	g.all[3].Kill()
	until(t, "it is gone", func() bool {
		info, err := g.all[0].Info(t.Context(), "replication")
		return err == nil && info["connected_slaves"] == "2"
	})
	if err := open(); !errors.As(err, new(*holdfast.RequirementError)) {
		t.Errorf("with one of them away: %v", err)
	}
	command(t, g.all[0], "HDEL", "holdfast:store", "nodes") // gone for good
	if err := open(); err != nil {
		t.Errorf("with three nodes: %v", err)
	}
}

// What was noted of a node that answers, and may not be read, does not count: it may have been changed since.
func TestRequireAsksThoseWhoAnswer(t *testing.T) {
	t.Parallel()
	g := startNodes(t, 3, minReplicas...)
	openLocks(t, "redis://"+g.all[0].Addr(), holdfast.Require(holdfast.Correctness)).Close()
	command(t, g.all[2], "ACL", "SETUSER", "default", "-config")
	if _, err := holdfast.Open(inTime(t), "redis://"+g.all[0].Addr(), holdfast.Require(holdfast.Correctness)); !errors.As(err, new(*holdfast.RequirementError)) {
		t.Errorf("a node that may not be asked for its settings: %v", err)
	}
}

// Whoever makes a copy of the data for itself alone, as redis-cli --rdb does, is no replica: the store does not remember it as one.
func TestACopyIsNoReplica(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	conn, err := server.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	conn.Do(soon, "SYNC") // its answer is no answer
	locks := openLocks(t, "redis://"+server.Addr())
	if info, err := server.Info(t.Context(), "replication"); err != nil || info["connected_slaves"] != "1" {
		t.Fatalf("nobody copies: %v, %v", info["connected_slaves"], err)
	}
	locks.Mutex("lock").TryLock(inTime(t)) // the engine looks, too
	if lag := command(t, server, "HGET", "holdfast:store", "lag"); lag != nil && lag != "0" {
		t.Errorf("the store remembers a replica, with lag %v", lag)
	}
}

// A backup of a single server, by redis-cli --rdb or SHUTDOWN SAVE, keeps nobody from opening it who needs a safe deployment, if it was seen
// to be alone before.
func TestRequireAfterABackup(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	open := func() error {
		locks, err := holdfast.Open(inTime(t), "redis://"+server.Addr(), holdfast.Require(holdfast.Correctness))
		if err == nil {
			locks.Mutex("lock").TryLock(inTime(t)) // the engine looks, too
			locks.Close()
		}
		return err
	}
	if err := open(); err != nil {
		t.Fatal(err)
	}
	conn, err := server.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	conn.Do(soon, "SYNC")
	conn.Close()
	until(t, "the copy is made", func() bool {
		info, err := server.Info(t.Context(), "replication")
		return err == nil && info["connected_slaves"] == "0" && info["repl_backlog_active"] == "1"
	})
	if err := open(); err != nil {
		t.Errorf("after a copy was made: %v", err)
	}
	server.Do(t.Context(), "SHUTDOWN", "SAVE") // it does not answer
	if err := errors.Join(server.Wait(inTime(t)), server.Restart(inTime(t))); err != nil {
		t.Fatal(err)
	}
	if info, err := server.Info(t.Context(), "replication"); err != nil || strings.Trim(info["master_replid2"], "0") == "" {
		t.Fatalf("it has no second id: %v, %v", info, err)
	}
	if err := open(); err != nil {
		t.Errorf("after a restart with the file: %v", err)
	}
	if lag := command(t, server, "HGET", "holdfast:store", "lag"); lag != nil && lag != "0" {
		t.Errorf("the store remembers a replica, with lag %v", lag)
	}
}

// A store that has had replicas is not taken for one that never had, whatever is connected now.
func TestRequireAfterReplicas(t *testing.T) {
	t.Parallel()
	g := startNodes(t, 2)
	locks := openLocks(t, "redis://"+g.all[0].Addr())
	locks.Mutex("lock").TryLock(inTime(t)) // the guard is on; the server has seen its replica
	g.all[1].Kill()
	until(t, "the replica is gone", func() bool {
		info, err := g.all[0].Info(t.Context(), "replication")
		return err == nil && info["connected_slaves"] == "0"
	})
	promises, err := locks.Guarantees(t.Context())
	if err != nil || promises.SurvivesFailover || !promises.SurvivesRestart || promises.Fencing != driver.FencingDurable {
		t.Errorf("promised: %+v, %v", promises, err)
	}
	if text := strings.Join(promises.Missing, "\n"); !strings.Contains(text, "with 2 nodes") {
		t.Errorf("missing is said to be %q", text)
	}
}

// Clients that reach a server under different addresses find the same deployment.
func TestGuaranteesUnderOtherNames(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3} {
		g := startNodes(t, n, minReplicasOf(min(n-1, 1)), minReplicas[1])
		var found []holdfast.Guarantees
		for _, locks := range []*holdfast.Client{openLocks(t, "redis://"+g.all[0].Addr()), g.join(0, "").Client, g.join(0, "").Client} {
			promises, err := locks.Guarantees(inTime(t))
			g.do(err)
			found = append(found, promises)
		}
		if !found[2].SurvivesFailover || !reflect.DeepEqual(found[0], found[1]) || !reflect.DeepEqual(found[1], found[2]) {
			t.Errorf("with %d nodes: %+v\n%+v\n%+v", n, found[0], found[1], found[2])
		}
	}
}
