package arena

import (
	"bufio"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	"holdfast.dev/locktest/servers"
)

func (s *stage) voters() *voters { return s.arena.(*redlockArena).voters }

// node is the one of several that chance, which takes the middle, chooses; if more are chosen they are this one and those behind it.
func (s *stage) node() int { return rand.New(middle{}).IntN(len(s.voters().nodes)) }

// reached is whether a node answers over a new connection: over all ways, or over none.
func (s *stage) reached(node int) bool {
	s.Helper()
	answers := 0
	for _, way := range s.voters().network {
		if conn, err := net.Dial("tcp", way[node].Addr()); err == nil {
			conn.SetDeadline(time.Now().Add(patience))
			if answer, err := (&line{conn, bufio.NewReader(conn), 0}).ask("PING"); err == nil && answer == "+PONG" {
				answers++
			}
			conn.Close()
		}
	}
	if answers != 0 && answers != ways {
		s.Errorf("node %d is reached over %d of %d ways", node, answers, ways)
	}
	return answers > 0
}

// gone are the nodes that nobody reaches.
func (s *stage) gone() (nodes []int) {
	s.Helper()
	for node := range s.voters().nodes {
		if !s.reached(node) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// chosen are so many nodes, in their order.
func (s *stage) chosen(count int) []int {
	return slices.Sorted(slices.Values(s.voters().from(s.node(), count)))
}

func (s *stage) areGone(count int) {
	s.Helper()
	if gone, want := s.gone(), s.chosen(count); !slices.Equal(gone, want) {
		s.Errorf("nobody reaches the nodes %v; want %v", gone, want)
	}
}

// partitioned: there is silence on every way, and where there are several nodes, on every way to so many of them.
func partitioned(of func(nodes int) int) witness {
	return func(s *stage) {
		silence{requests: true, replies: true, refuses: true, on: ways}.seen(s)
		if _, votes := s.arena.(*redlockArena); !votes {
			return
		}
		s.play(func() { s.areGone(of(len(s.voters().nodes))) })
		s.areGone(0)
	}
}

// marked writes something to every node, and returns who they are.
func (s *stage) marked() (lives []string) {
	s.Helper()
	for _, node := range s.voters().nodes {
		if _, err := node.Do(s.Context(), "SET", "kept", "yes"); err != nil {
			s.Fatal(err)
		}
		lives = append(lives, s.lifeOf(node))
	}
	return lives
}

// compare: these nodes are other processes now, and empty; the others are as they were.
func (s *stage) compare(lives []string, forgot []int) {
	s.Helper()
	for i, node := range s.voters().nodes {
		kept, err := node.Do(s.Context(), "EXISTS", "kept")
		if err != nil {
			s.Fatal(err)
		}
		if got, want := kept == int64(0) && s.lifeOf(node) != lives[i], slices.Contains(forgot, i); got != want {
			s.Errorf("node %d has forgotten: %v; want %v", i, got, want)
		}
	}
}

// forgotten: so many are away at once, and come back empty.
func forgotten(of func(nodes int) int) witness {
	return func(s *stage) {
		lives, count := s.marked(), of(len(s.voters().nodes))
		s.play(func() { s.areGone(count) })
		s.compare(lives, s.chosen(count))
		s.areGone(0)
	}
}

// forgottenInTurn: one at a time is away, and in the end all have been.
func forgottenInTurn(s *stage) {
	lives, n := s.marked(), len(s.voters().nodes)
	var looks []func()
	for i := range n {
		node := (s.node() + i) % n
		looks = append(looks, func() {
			if gone := s.gone(); !slices.Equal(gone, []int{node}) {
				s.Errorf("nobody reaches the nodes %v; want %d", gone, node)
			}
		})
		if i < n-1 {
			looks = append(looks, func() {
				if gone := s.gone(); len(gone) > 0 {
					s.Errorf("between two of them nobody reaches %v", gone)
				}
			})
		}
	}
	s.play(looks...)
	s.compare(lives, s.chosen(n))
	s.areGone(0)
}

// Of faults that can concern one node, a minority or all, each is seen; and what is done to some is not done to the others.
func TestSomeNodes(t *testing.T) {
	for _, n := range []int{3, 5} {
		network, err := NewNetwork(2, slices.Repeat([]string{"127.0.0.1:1"}, n)...)
		if err != nil {
			t.Fatal(err)
		}
		defer network.Close()
		v := &redlockArena{voters: &voters{nodes: make([]*servers.Redis, n), network: network, stepped: make([]time.Duration, n)}}
		s := &Scene{Random: rand.New(rand.NewPCG(1, 2))}
		sizes, nodes := make(map[int]bool), make(map[int]bool)
		for range 200 {
			some := v.some(s)
			sizes[len(some)] = true
			for i, way := range v.to(some) {
				if len(way) != len(some) {
					t.Fatalf("to %v there are %d ways", some, len(way))
				}
				for j, p := range way {
					nodes[some[j]] = true
					if p != network[i][some[j]] {
						t.Errorf("to node %d leads the way to another", some[j])
					}
				}
			}
		}
		if want := map[int]bool{1: true, (n - 1) / 2: true, n: true}; len(sizes) != len(want) || len(nodes) != n {
			t.Errorf("of %d nodes %v were chosen, so many at a time: %v", n, nodes, sizes)
		}
		first := v.clock(s)
		v.stepped[first] = time.Second
		for range 20 {
			if v.clock(s) != first {
				t.Error("two clocks are wrong")
			}
		}
	}
}
