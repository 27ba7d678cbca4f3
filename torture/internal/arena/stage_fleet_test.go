package arena

import (
	"bufio"
	"net"
	"strings"
	"time"

	"holdfast.dev/locktest/servers"
)

// fleet is that of the arena, or nil.
func (s *stage) fleet() *fleet {
	switch a := s.arena.(type) {
	case *replicasArena:
		return a.fleet
	case *sentinelArena:
		return a.fleet
	}
	return nil
}

// on asks a server, by its place.
func (s *stage) on(node int, args ...string) any {
	s.Helper()
	answer, err := s.fleet().nodes[node].Do(s.Context(), args...)
	if err != nil {
		s.Fatalf("server %d: %.40q: %v", node, args, err)
	}
	return answer
}

// replicated writes something that all have when it returns.
func (s *stage) replicated(key string) (lead int) {
	s.Helper()
	s.do("SET", key, "yes")
	s.until("all have it", func() bool {
		for node := range nodes {
			if s.on(node, "GET", key) != "yes" {
				return false
			}
		}
		return true
	})
	return int(s.fleet().lead.Load())
}

// lead is another node than before, or the same.
func (s *stage) leads(old int, same bool) (lead int) {
	s.Helper()
	lead = int(s.fleet().lead.Load())
	if (lead == old) != same {
		s.Errorf("the primary was %d, and is %d", old, lead)
	}
	s.hasRole(lead, "master")
	return lead
}

func (s *stage) hasRole(node int, want string) {
	s.Helper()
	if role, err := s.fleet().nodes[node].Role(s.Context()); role != want || err != nil {
		s.Errorf("server %d is a %q, %v; want a %s", node, role, err, want)
	}
}

func (s *stage) dead(node int) {
	s.Helper()
	if _, err := s.fleet().nodes[node].Do(s.Context(), "PING"); err == nil {
		s.Errorf("server %d answers", node)
	}
}

// life tells one process from the next.
func (s *stage) life(node int) string {
	s.Helper()
	return s.lifeOf(s.fleet().nodes[node])
}

func (s *stage) lifeOf(server *servers.Redis) string {
	s.Helper()
	info, err := server.Info(s.Context(), "server")
	if err != nil {
		s.Fatal(err)
	}
	return info["run_id"]
}

func (s *stage) lives() []string {
	s.Helper()
	var all []string
	for node := range nodes {
		all = append(all, s.life(node))
	}
	return all
}

// healthy: one primary, which all follow, and which every way leads to.
func (s *stage) healthy() {
	s.Helper()
	if err := s.fleet().joined(s.Context()); err != nil {
		s.Error(err)
	}
	for node := range nodes {
		if !s.edge(node) {
			s.Errorf("no other server reaches server %d", node)
		}
	}
	for way := range ways {
		if answer, err := s.dial(way).ask("SET way works"); answer != "+OK" {
			s.Errorf("way %d does not lead to a primary: %q, %v", way, answer, err)
		}
	}
	s.replicated("in the end")
}

// edge reports whether servers and Sentinels that come anew reach a node.
func (s *stage) edge(node int) bool {
	conn, err := net.Dial("tcp", s.fleet().edges[node].Addr())
	if err != nil {
		return false
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	answer, err := (&line{conn, bufio.NewReader(conn), node}).ask("PING")
	return err == nil && answer == "+PONG"
}

// cutOff: only clients reach the node.
func (s *stage) cutOff(node int) {
	s.Helper()
	if s.edge(node) {
		s.Errorf("other servers reach server %d", node)
	}
	s.same("what it answers clients", s.on(node, "PING"), "PONG")
}

// refused: a write to the node is not accepted.
func (s *stage) refused(node int, with string) {
	s.Helper()
	_, err := s.fleet().nodes[node].Do(s.Context(), "SET", "x", "y")
	if refused, is := err.(servers.RedisError); !is || !strings.HasPrefix(string(refused), with) {
		s.Errorf("a write to server %d: %v; want %s", node, err, with)
	}
}
