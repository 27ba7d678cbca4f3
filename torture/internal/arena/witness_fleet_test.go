package arena

import (
	"strconv"
	"strings"
)

// failover: the primary is dead, another one is there, and then all are.
func failover(s *stage) {
	old := s.replicated("kept")
	life := s.life(old)
	s.play(func() {
		s.dead(old)
		s.same("what all had", s.on(s.leads(old, false), "GET", "kept"), "yes")
	})
	s.leads(old, false)
	s.hasRole(old, "slave")
	if s.life(old) == life {
		s.Error("the old primary was not killed")
	}
	s.healthy()
}

// failoverCut: what the primary has accepted last is lost.
func failoverCut(s *stage) {
	old := s.replicated("kept")
	s.play(func() {
		s.same("a write when nobody follows", s.on(old, "SET", "lost", "yes"), "OK")
	}, func() {
		s.dead(old)
		lead := s.leads(old, false)
		s.same("what all had", s.on(lead, "GET", "kept"), "yes")
		s.same("what only the old one had", s.on(lead, "GET", "lost"), nil)
	})
	s.healthy()
}

// failoverTwice: the second is dead, too.
func failoverTwice(s *stage) {
	first := s.replicated("kept")
	second := first
	s.play(func() {
		s.dead(first)
		second = s.leads(first, false)
	}, func() {
		s.dead(first)
		s.dead(second)
		s.same("what all had", s.on(s.leads(second, false), "GET", "kept"), "yes")
	})
	s.healthy()
}

// failoverByHand: nobody ends, and nothing is lost.
func failoverByHand(s *stage) {
	old := s.replicated("kept")
	lives := s.lives()
	s.play()
	s.same("what all had", s.on(s.leads(old, false), "GET", "kept"), "yes")
	s.hasRole(old, "slave")
	s.sameLives(lives)
	s.healthy()
}

func (s *stage) sameLives(before []string) {
	s.Helper()
	for node, life := range s.lives() {
		if life != before[node] {
			s.Errorf("server %d has ended", node)
		}
	}
}

// oldReturns: beside the new primary there is the old one, empty, and has not heard of anything.
func oldReturns(s *stage) {
	old := s.replicated("kept")
	life := s.life(old)
	s.play(func() {
		s.same("what all had", s.on(s.leads(old, false), "GET", "kept"), "yes")
		s.returned(old)
		if s.life(old) == life {
			s.Error("the old primary was not killed")
		}
		s.lingers(old)
	})
	s.leads(old, false)
	s.hasRole(old, "slave")
	s.healthy()
}

// returned: it began as a primary with nothing. On a slow machine the Sentinels have told it already.
func (s *stage) returned(node int) {
	s.Helper()
	server := s.fleet().nodes[node]
	role, err := server.Role(s.Context())
	if role == "master" {
		s.same("its keys", s.on(node, "DBSIZE"), int64(0))
		s.refused(node, "NOREPLICAS")
	} else if !strings.Contains(server.Log(), "Before turning into a replica, using my own master parameters") {
		s.Errorf("it has returned as a %q, %v", role, err)
	}
}

// lingers: some clients still reach the old primary, and some the new one. With Sentinels all have a way to each.
func (s *stage) lingers(old int) {
	s.Helper()
	if _, is := s.arena.(*replicasArena); !is {
		return
	}
	reached := make(map[string]bool)
	for way := range ways {
		l := s.dial(way)
		port, err := l.ask("CONFIG GET port")
		for range 4 { // lines more, the last of them is it
			if err == nil {
				port, err = l.answer()
			}
		}
		if err != nil {
			s.Fatal(err)
		}
		reached[port] = true
	}
	for _, node := range []int{old, int(s.fleet().lead.Load())} {
		if port := strconv.Itoa(s.fleet().nodes[node].Port()); !reached[port] || len(reached) != 2 {
			s.Errorf("clients reach %v; want %s to be one of two", reached, port)
		}
	}
}

// oldIsolated: there are two primaries, and clients reach both.
func oldIsolated(s *stage) {
	old := s.replicated("kept")
	lives := s.lives()
	s.play(func() {
		s.leads(old, false)
		s.hasRole(old, "master")
		s.cutOff(old)
		s.lingers(old)
		s.until("it does not take writes any more", func() bool {
			_, err := s.fleet().nodes[old].Do(s.Context(), "SET", "x", "y")
			return err != nil
		})
		s.refused(old, "NOREPLICAS")
	})
	s.leads(old, false)
	s.hasRole(old, "slave")
	s.sameLives(lives)
	s.healthy()
}

// oldAgain: it is a replica in between, and the same process at both ends.
func oldAgain(s *stage) {
	old := s.replicated("kept")
	lives, reign := s.lives(), s.info("replication", "master_replid")
	s.play(func() {
		s.leads(old, false)
	})
	s.leads(old, true)
	s.sameLives(lives)
	if s.info("replication", "master_replid") == reign {
		s.Error("it has been the primary all the time")
	}
	s.same("what all had", s.on(old, "GET", "kept"), "yes")
	s.healthy()
}

// replicasCut: at first the primary does not know, and then it does.
func replicasCut(s *stage) {
	old := s.replicated("kept")
	s.play(func() {
		s.same("a write when nobody follows", s.on(old, "SET", "late", "yes"), "OK")
		for _, node := range s.fleet().others(old) {
			s.same("a replica has it", s.on(node, "GET", "late"), nil)
		}
	}, func() {
		s.cutOff(old)
		s.same("replicas", s.info("replication", "connected_slaves"), "0")
		s.refused(old, "NOREPLICAS")
	})
	s.leads(old, true)
	for _, node := range s.fleet().others(old) {
		s.same("what was late", s.on(node, "GET", "late"), "yes")
	}
	s.healthy()
}

// replicaStop: one of them does not get what is written meanwhile.
func replicaStop(s *stage) {
	old := s.replicated("kept")
	s.play(func() {
		conn, err := s.server().Dial(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		defer conn.Close()
		conn.Do(s.Context(), "SET", "late", "yes")
		got := any(nil)
		s.until("the other one has it", func() bool {
			got, err = conn.Do(s.Context(), "WAIT", "2", "100")
			return err != nil || got != int64(0)
		})
		s.same("replicas that have it", got, int64(1))
	})
	s.leads(old, true)
	s.healthy()
}

// primaryForgets: it is another process, and all are empty; unless the Sentinels were faster, on a slow machine.
func primaryForgets(s *stage) {
	old := s.replicated("kept")
	life := s.life(old)
	s.play(func() { s.dead(old) })
	if s.life(old) == life {
		s.Error("the primary was not killed")
	}
	if int(s.fleet().lead.Load()) == old {
		for node := range nodes {
			s.same("what was written before", s.on(node, "GET", "kept"), nil)
		}
	}
	s.healthy()
}
