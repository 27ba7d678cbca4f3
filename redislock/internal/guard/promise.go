package guard

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/redisconn"
)

// Promise says what this deployment promises as it is set up now: it asks every node that it can find, for half a second at most. One that
// cannot be asked counts as it was when it last could be, by whichever client. See the package comment. What depends on the locks, and not
// on the servers, is left out: FIFO, Shared, Permits, Keep, Reserve.
func (s *Store) Promise(ctx context.Context) (driver.Guarantees, error) {
	if err := s.Usable(ctx); err != nil {
		return driver.Guarantees{}, err
	}
	st, err := s.Opened(ctx)
	if err != nil {
		return driver.Guarantees{}, err
	}
	nodes, err := redisconn.Nodes(ctx, s.config.Client)
	if err != nil {
		return driver.Guarantees{}, s.Failure(err)
	}
	nodes, absent, wasAlone := s.recall(ctx, st, nodes)
	g := promise(st, nodes, wasAlone)
	for _, address := range absent {
		g.Beyond = append(g.Beyond, address+" cannot be asked now, and has other settings when it comes back than it had when it was last asked (HDEL "+s.config.Key+
			" nodes if it is gone for good)")
	}
	return g, nil
}

// promise is what can be promised of a store on these nodes, the first of which is the primary. wasAlone: and was the only one when the
// deployment was last looked at.
func promise(st *Opened, nodes []redisconn.Node, wasAlone bool) driver.Guarantees {
	g := driver.Guarantees{
		Fencing: driver.FencingVolatile,
		MinTTL:  MinTTL, MaxTTL: st.MaxTTL(),
		Beyond: []string{
			"the server's clock is set forward while a lock is held, also to mend one that was set back, or within the guard after a restart: holds run out early by as much (fencing tokens still rise)",
			"FLUSHALL, FLUSHDB, SWAPDB, DEL of a lock's key: holds are lost, and their holders told at their next renewal",
		},
	}
	beyond := func(format string, args ...any) { g.Beyond = append(g.Beyond, fmt.Sprintf(format, args...)) }
	guarded := st.Guard > 0
	if guarded {
		g.Fencing = driver.FencingDurable
		beyond("a restart without data before or during which the server's clock is set back by more than the guard: tokens can fall")
	} else {
		beyond("a restart of the server, or a failover: with guard=0 a lock can be granted again while its holder believes in it")
		g.Missing = append(g.Missing, "the guard is off: leave guard=0 out, or set the store up anew without it")
	}
	evicts := evicting(nodes)
	for _, text := range evicts {
		beyond("a full memory: %s", text)
	}
	switch persistent := nodes[0].Info["aof_enabled"] == "1"; {
	case !persistent:
		beyond("a restart of the server forgets what is held, without appendonly yes; holders are told at their next renewal, and with a guard nobody else gets it before")
	case guarded:
		beyond("a crash of the server's machine: appendfsync everysec can lose the locks of the last second; their holders are told at their next renewal")
	}
	g.SurvivesRestart = guarded && len(evicts) == 0
	g.SurvivesFailover = g.SurvivesRestart
	g.Missing = append(g.Missing, evicts...)
	if guarded {
		beyond("a restart that forgets the store's settings, if a client that asks for a shorter guard than before, or for none, is the first to come: name the same guard= in all URLs")
	}
	beyond("a replica that is added later, or was away for long when this was asked: nobody has looked at its settings")
	if isAlone(st, nodes) && (wasAlone || !rememberReplicas(nodes[0])) {
		return g // nobody can take over
	}
	for _, text := range doubling(st, nodes) {
		beyond("a failover: %s", text)
		g.Missing = append(g.Missing, text)
		g.SurvivesFailover = false
	}
	beyond("a failover to a node whose clock is behind the old primary's by more than the guard, and that has not received what that wrote last: tokens can fall")
	beyond("a role that is moved by hand, other than to the newest primary: a replica that is pointed back to an old one lets that grant again; and so does a node that was made a replica, starts again as a primary because its settings were not rewritten, and still has a replica of its own")
	beyond("the clock of a primary is set back while it is cut off from its replicas, or stands still with its machine (a virtual machine that is paused): it may take old contact for new")
	return g
}

// isAlone reports whether there is no other server that could take over, as far as is to be found.
func isAlone(st *Opened, nodes []redisconn.Node) bool {
	return len(nodes) == 1 && st.Lag == 0 && nodes[0].MinReplicas <= 0 && !isReplicated(nodes[0].Info)
}

// rememberReplicas reports whether a server has had a replica, or a copy was made of it, less than repl-backlog-ttl ago. Which it was nobody
// can tell: one that was found alone before had its copy made.
func rememberReplicas(n redisconn.Node) bool { return n.Info["repl_backlog_active"] == "1" }

// evicting says which nodes may throw locks out.
func evicting(nodes []redisconn.Node) (texts []string) {
	for _, n := range nodes {
		if n.Policy != "" && n.Policy != "noeviction" {
			texts = append(texts, fmt.Sprintf("maxmemory-policy is %s%s, which can evict locks; set noeviction", n.Policy, on(n, nodes)))
		}
	}
	return texts
}

// on names a node where there are several.
func on(n redisconn.Node, nodes []redisconn.Node) string {
	if len(nodes) == 1 || n.Addr == "" {
		return ""
	}
	return " on " + n.Addr
}

// doubling says what keeps a failover from being safe: with too few replicas that must follow a primary, two halves of a split can
// both have one.
func doubling(st *Opened, nodes []redisconn.Node) (texts []string) {
	if st.Guard == 0 {
		return nil // which is said already
	}
	half := len(nodes) / 2
	if len(nodes) == 1 {
		half = 1 // it has had a replica
		text := "the server has had a replica, or a copy was made of it (redis-cli --rdb), and none is to be found; bring it back, or wait for repl-backlog-ttl"
		if st.Lag > 0 {
			text = "the store has had replicas, and none is to be found; bring them back, or, if it is to have none, HDEL its key's field lag"
		}
		texts = append(texts, text)
	}
	few := make(map[int][]string) // addresses
	for _, n := range nodes {
		switch {
		case n.MinReplicas < 0:
			texts = append(texts, unknown(n))
		case len(nodes) > 1 && (n.MinReplicas < half || n.MaxLag <= 0):
			few[n.MinReplicas] = append(few[n.MinReplicas], address(n))
		}
	}
	for _, n := range slices.Sorted(maps.Keys(few)) {
		texts = append(texts, fmt.Sprintf("min-replicas-to-write is %d on %s, and a primary that is cut off goes on; with %s set it to %d or more on every node, and min-replicas-max-lag to 2",
			n, strings.Join(few[n], ", "), count(len(nodes), "node"), half))
	}
	if len(texts) == 0 && (st.Replicas < half || st.Lag == 0) {
		texts = append(texts, "the store does not know of its replicas yet; open it again")
	}
	return texts
}

// unknown says why the settings of a node are not known.
func unknown(n redisconn.Node) string {
	if n.Info == nil {
		return fmt.Sprintf("%s cannot be asked, so that its settings are not known: %v", address(n), n.Err)
	}
	return fmt.Sprintf("%s: %v", address(n), n.Err)
}

func address(n redisconn.Node) string {
	if n.Addr == "" {
		return "the primary"
	}
	return n.Addr
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
