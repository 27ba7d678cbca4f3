package redislock

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast.dev/redislock/internal/redisconn"
)

// What is found of the nodes of a deployment is noted in the store's key. Without it nobody who needs a safe deployment could open the store
// while a node is down: after a failover the old primary is, and its settings cannot be read.

// recall fills in what was noted of nodes that cannot be asked, and returns their addresses; and has noted what is known now. It does what
// it can: a server that refuses to write, or does not answer, leaves things as they are.
func (s *Store) recall(ctx context.Context, st *opened, nodes []redisconn.Node) (absent []string) {
	if len(nodes) < 2 {
		return nil
	}
	r, err := s.found(ctx, fnFind, nil)
	if err != nil || r.text(0) != st.id {
		return nil
	}
	noted := readNotes(r.text(5))
	for i, n := range nodes {
		before, known := noted[n.Addr]
		if n.MinReplicas < 0 && known {
			before.Addr, before.Info = n.Addr, n.Info
			nodes[i] = before
			absent = append(absent, n.Addr)
		}
	}
	if text := writeNotes(nodes); text != r.text(5) {
		s.found(ctx, fnNote, []string{st.id, text})
	}
	return absent
}

// writeNotes is what is known of nodes, a line each.
func writeNotes(nodes []redisconn.Node) string {
	var lines []string
	for _, n := range nodes {
		if n.MinReplicas >= 0 && n.Addr != "" && n.Policy != "" {
			lines = append(lines, fmt.Sprintf("%s %d %v %s", n.Addr, n.MinReplicas, n.MaxLag, n.Policy))
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
