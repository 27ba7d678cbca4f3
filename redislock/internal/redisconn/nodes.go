package redisconn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

const (
	nodesLimit = 500 * time.Millisecond // for finding and asking all nodes
	maxNodes   = 256                    // more are no deployment but a mistake
)

var errOthers = errors.New("the program has brought its own client, which reaches its primary only; open the store by its URL to have the other nodes asked")

// Nodes finds every node of c's deployment and asks each what it is: the server that c uses, which comes first; its replicas, and theirs;
// its own primary, if it is a replica itself; and all that Sentinels list, though they be gone. That takes half a second at most. A node
// that cannot be asked has an Err; and if no Sentinel can list them there is one more with an Err, which stands for those that are not
// known. Nodes itself fails when c's own server cannot be asked.
//
// A node that is told under several addresses counts once: it is known by its run_id.
func Nodes(ctx context.Context, c rueidis.Client) ([]Node, error) {
	own := adopt(c)
	first, err := own.askOwn(ctx)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, nodesLimit)
	defer cancel()
	s := &survey{ctx: limited, c: own, seen: make(map[string]bool), runs: make(map[string]string)}
	s.see(first.Addr, "")
	s.add(first, true)
	missed := s.visitListed()
	s.work.Wait() // everything in it ends with limited
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	nodes := s.result()
	if missed != nil {
		nodes = append(nodes, Node{Addr: unlisted, MinReplicas: -1, Err: missed})
	}
	return nodes, nil
}

// unlisted is the address of the node that stands for those that no Sentinel could list.
const unlisted = "other nodes"

// ListsAll reports whether nodes, which Nodes has found, are all that there are: Sentinels have listed them.
func ListsAll(c rueidis.Client, nodes []Node) bool {
	w := adopt(c).wires
	return w != nil && w.target.sentinels != nil && !slices.ContainsFunc(nodes, func(n Node) bool { return n.Addr == unlisted })
}

// A survey is a walk through a deployment, to all nodes at once.
type survey struct {
	ctx  context.Context
	c    *client
	work sync.WaitGroup

	mu    sync.Mutex
	seen  map[string]bool   // addresses, as reached
	runs  map[string]string // run_id by address, as told by Sentinels
	found []Node            // the first is c's own
}

// see notes an address and the run_id that was told with it, and reports whether it is new.
func (s *survey) see(told, run string) bool {
	if w := s.c.wires; w != nil {
		told = w.target.reachable(told)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if run != "" {
		s.runs[told] = run
	}
	if s.seen[told] || len(s.seen) >= maxNodes {
		return false
	}
	s.seen[told] = true
	return true
}

// add notes a node, and visits its replicas. With up it visits its primary, too, if it is a replica itself: only those above c's own
// server are not found in another way, and a replica may know its primary by an address that is good for nobody else.
func (s *survey) add(n Node, up bool) {
	s.mu.Lock()
	s.found = append(s.found, n)
	s.mu.Unlock()
	for _, replica := range n.replicas() {
		s.visit(replica, "", false)
	}
	if host := n.Info["master_host"]; host != "" && up {
		s.visit(net.JoinHostPort(host, n.Info["master_port"]), "", true)
	}
}

// visit asks the node at an address, unless that was done. run is its run_id, if that was told.
func (s *survey) visit(address, run string, up bool) {
	told, ok := addressOf(address)
	if !ok || !s.see(told, run) {
		return
	}
	if s.c.wires == nil {
		s.add(Node{Addr: told, MinReplicas: -1, Err: errOthers}, false)
		return
	}
	s.work.Go(func() { s.add(s.c.wires.target.askNode(s.ctx, told), up) })
}

// visitListed visits what any of the Sentinels lists. One that was told of a node suffices.
func (s *survey) visitListed() error {
	if s.c.wires == nil || s.c.wires.target.sentinels == nil {
		return nil
	}
	t := s.c.wires.target
	lists := make(chan listed, len(t.sentinels.addresses))
	for _, address := range t.sentinels.addresses {
		go func() { lists <- t.sentinels.list(s.ctx, t, address) }()
	}
	known, last := 0, error(nil)
	for range t.sentinels.addresses {
		list := <-lists
		if list.err != nil {
			last = network(inOwnTime(list.err))
			continue
		}
		known++
		for _, node := range list.nodes {
			s.visit(net.JoinHostPort(node["ip"], node["port"]), node["runid"], false)
		}
	}
	if known == 0 {
		return &hint{fmt.Sprintf("none of the %d Sentinels in the URL could list the nodes; look at them, and at the network", len(t.sentinels.addresses)), []error{last}}
	}
	return nil
}

// result is every node once: by its run_id, its own or as told. Of several entries one that was asked counts.
func (s *survey) result() []Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	others := s.found[1:]
	slices.SortFunc(others, func(a, b Node) int {
		return cmp.Or(cmp.Compare(a.asked(), b.asked()), strings.Compare(a.Addr, b.Addr))
	})
	known := make(map[string]bool)
	nodes := slices.DeleteFunc(s.found, func(n Node) bool {
		run := n.Info["run_id"]
		if run == "" {
			run = s.runOf(n.Addr)
		}
		twice := run != "" && known[run]
		known[run] = true
		return twice
	})
	slices.SortFunc(nodes[1:], func(a, b Node) int { return strings.Compare(a.Addr, b.Addr) })
	return nodes
}

func (s *survey) runOf(told string) string {
	if w := s.c.wires; w != nil {
		told = w.target.reachable(told)
	}
	return s.runs[told]
}
