package redislock

import (
	"context"
	"fmt"
	"maps"
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
func (s *Store) recall(ctx context.Context, st *opened, nodes []redisconn.Node) (all []redisconn.Node, absent []string, wasAlone bool) {
	r, err := s.found(ctx, fnFind, nil)
	if err != nil || r.text(0) != st.id {
		return nodes, nil, false
	}
	noted := readNotes(r.text(5))
	_, wasAlone = noted[nodes[0].Addr]
	wasAlone = wasAlone && len(noted) == 1
	known := make(map[string]redisconn.Node)
	for i, n := range nodes {
		before, is := noted[n.Addr]
		delete(noted, n.Addr)
		if is && n.Info == nil && !driver.Answered(n.Err) {
			nodes[i] = before
			absent = append(absent, n.Addr)
		}
		if nodes[i].MinReplicas >= 0 {
			known[n.Addr] = nodes[i]
		}
	}
	if !redisconn.ListsAll(s.client, nodes) {
		for _, addr := range slices.Sorted(maps.Keys(noted)) {
			nodes, absent, known[addr] = append(nodes, noted[addr]), append(absent, addr), noted[addr]
		}
	}
	certain := len(nodes) > 1 || wasAlone || !rememberReplicas(nodes[0])
	if text := writeNotes(known); text != r.text(5) && certain {
		s.found(ctx, fnNote, []string{st.id, text})
	}
	return nodes, absent, wasAlone
}

// writeNotes is what is known of nodes, a line each.
func writeNotes(nodes map[string]redisconn.Node) string {
	var lines []string
	for addr, n := range nodes {
		if addr != "" && n.Policy != "" {
			lines = append(lines, fmt.Sprintf("%s %d %v %s", addr, n.MinReplicas, n.MaxLag, n.Policy))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func readNotes(text string) map[string]redisconn.Node {
	nodes := make(map[string]redisconn.Node)
	for line := range strings.Lines(text) {
		var n redisconn.Node
		var lag string
		if _, err := fmt.Sscan(line, &n.Addr, &n.MinReplicas, &lag, &n.Policy); err != nil {
			continue
		}
		if d, err := time.ParseDuration(lag); err == nil && n.MinReplicas >= 0 {
			n.MaxLag = d
			nodes[n.Addr] = n
		}
	}
	return nodes
}
