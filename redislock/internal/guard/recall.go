package guard

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/redisconn"
)

// What is found of the nodes of a deployment is noted in the store's key. Without it nobody who needs a safe deployment could open the store
// while a node is down: after a failover the old primary is, and its settings cannot be read. And a node that is away would not be
// counted where nobody lists it: of four nodes, with a setting that is good for three, one is away when a program looks, and back when
// the network splits.

// recall fills in what was noted of nodes that cannot be asked, and adds those that are not to be found, unless Sentinels list them all. It
// returns all nodes, and the addresses of those that it has recalled, and whether the only one was the only one before; and has noted what
// is known now. It does what it can: a server that refuses to write, or does not answer, leaves things as they are.
func (s *Store) recall(ctx context.Context, st *Opened, nodes []redisconn.Node) (all []redisconn.Node, absent []string, wasAlone bool) {
	r, err := s.found(ctx, fnFind, nil)
	if err != nil || r.Text(0) != st.ID {
		return nodes, nil, false
	}
	noted, listed := readNotes(r.Text(5)), redisconn.ListsAll(s.config.Client, nodes)
	wasAlone = r.Text(5) == alone
	known := make(notes)
	for i, n := range nodes {
		name := n.Addr
		if i == 0 && !listed {
			name = noted.nameOf(nodes)
		}
		now, before := noteOf{n, n.Info["run_id"]}, noted[name]
		delete(noted, name)
		if before.run != "" && n.Info == nil && !driver.Answered(n.Err) {
			now, nodes[i] = before, before.Node
			absent = append(absent, name)
		}
		if now.MinReplicas >= 0 {
			known[name] = now
		}
	}
	if !listed {
		for _, name := range slices.Sorted(maps.Keys(noted)) {
			nodes, absent, known[name] = append(nodes, noted[name].Node), append(absent, name), noted[name]
		}
	}
	text := writeNotes(known)
	if len(nodes) == 1 && !rememberReplicas(nodes[0]) {
		text = alone
	}
	if text != "" && text != r.Text(5) {
		s.found(ctx, fnNote, []string{st.ID, text})
	}
	return nodes, absent, wasAlone
}

// alone is noted of a server that has no replicas.
const alone = "alone"

// notes are what is noted of nodes, by their addresses.
type notes map[string]noteOf

// A noteOf is what is noted of one.
type noteOf struct {
	redisconn.Node
	run string // its run_id
}

// nameOf is the address under which its replicas know the first of the nodes: clients may reach it under others, each its own. Without replicas
// it is the one that was noted of it before; "": none was.
func (all notes) nameOf(nodes []redisconn.Node) (name string) {
	for was, n := range all {
		if n.run == nodes[0].Info["run_id"] {
			name = was
		}
	}
	for _, n := range nodes[1:] {
		at := net.JoinHostPort(n.Info["master_host"], n.Info["master_port"])
		isReplicas := slices.ContainsFunc(nodes[1:], func(other redisconn.Node) bool { return other.Addr == at }) // in a chain
		if n.Info["master_host"] != "" && !isReplicas {
			return at
		}
	}
	return name
}

// writeNotes is what is known of nodes, a line each.
func writeNotes(nodes notes) string {
	var lines []string
	for addr, n := range nodes {
		if addr != "" && n.Policy != "" { // it has a name
			lines = append(lines, fmt.Sprintf("%s %s %d %v %s", addr, n.run, n.MinReplicas, n.MaxLag, n.Policy))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func readNotes(text string) notes {
	nodes := make(notes)
	for line := range strings.Lines(text) {
		var n noteOf
		var lag string
		if _, err := fmt.Sscan(line, &n.Addr, &n.run, &n.MinReplicas, &lag, &n.Policy); err != nil {
			continue
		}
		if d, err := time.ParseDuration(lag); err == nil && n.MinReplicas >= 0 {
			n.MaxLag = d
			nodes[n.Addr] = n
		}
	}
	return nodes
}
