package arena

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/locktest/servers"
)

// server is the one that is written to, or that chance chooses.
func (s *stage) server() *servers.Redis {
	switch a := s.arena.(type) {
	case *redlockArena:
		return a.nodes[s.node()]
	case *redisArena:
		return a.server
	}
	return s.fleet().primary()
}

// way is that of a process to it.
func (s *stage) way(process int) *netfault.Proxy {
	switch a := s.arena.(type) {
	case *sentinelArena:
		return a.network[process][a.lead.Load()]
	case *replicasArena:
		return a.network[process][0]
	case *redlockArena:
		return a.network[process][s.node()]
	}
	return s.arena.(*redisArena).network[process][0]
}

// clock is the server whose clock the fault is about, and by how much it was stepped.
func (s *stage) clock() (*servers.Redis, time.Duration) {
	switch a := s.arena.(type) {
	case *redlockArena:
		return s.server(), a.stepped[s.node()]
	case *redisArena:
		return a.server, a.stepped
	}
	f, node := s.fleet(), 0
	if s.fault == driver.ClockBack {
		node = 1 // by chance, which takes the middle
	}
	return f.nodes[node], f.stepped[node]
}

// do asks the server itself.
func (s *stage) do(args ...string) any {
	s.Helper()
	answer, err := s.server().Do(s.Context(), args...)
	if err != nil {
		s.Fatalf("%.40q: %v", args, err)
	}
	return answer
}

func (s *stage) same(what string, got, want any) {
	s.Helper()
	if got != want {
		s.Errorf("%s: %v; want %v", what, got, want)
	}
}

// clients are the server's connections of a name.
func (s *stage) clients(name string) []string {
	s.Helper()
	text, _ := s.do("CLIENT", "LIST").(string)
	return slices.DeleteFunc(strings.Split(text, "\n"), func(c string) bool { return !strings.Contains(c, " name="+name+" ") })
}

func (s *stage) info(section, field string) string {
	s.Helper()
	info, err := s.server().Info(s.Context(), section)
	if err != nil {
		s.Fatal(err)
	}
	return info[field]
}

// restarted: there is nobody at first, and then another process.
func restarted(s *stage) {
	s.Helper()
	s.do("SET", "kept", "yes")
	before, pid := s.info("server", "run_id"), s.info("server", "process_id")
	s.play(func() {
		if _, err := s.server().Do(s.Context(), "PING"); err == nil {
			s.Error("the server answers")
		}
	})
	if s.info("server", "run_id") == before || s.info("server", "process_id") == pid {
		s.Error("it is the same server")
	}
	s.allWork()
}

func serverKill(s *stage) {
	restarted(s)
	s.same("what was written before", s.do("GET", "kept"), "yes")
}

func serverForget(s *stage) {
	if s.fleet() != nil {
		primaryForgets(s)
		return
	}
	restarted(s)
	s.same("keys", s.do("DBSIZE"), int64(0))
}

// serverStop: no answer comes while it stands still, and then it does.
func serverStop(s *stage) {
	l, before := s.dial(0), s.info("server", "run_id")
	s.play(func() {
		l.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if answer, err := l.ask("INCR hits"); !errors.Is(err, os.ErrDeadlineExceeded) {
			s.Errorf("%q, %v; want no answer", answer, err)
		}
	})
	l.SetReadDeadline(time.Now().Add(patience))
	if answer, err := l.answer(); answer != ":1" {
		s.Errorf("then: %q, %v", answer, err)
	}
	s.same("the server", s.info("server", "run_id"), before)
}

// clientKill: all connections end, and new ones work.
func clientKill(s *stage) {
	lines := s.lines("ask")
	s.play()
	for _, l := range lines {
		if answer, err := l.ask("PING"); err == nil {
			s.Errorf("way %d: %q", l.way, answer)
		}
	}
	s.allWork()
}

func scriptFlush(s *stage) {
	sum, _ := s.do("SCRIPT", "LOAD", "return 1").(string)
	known := func() any { return s.do("SCRIPT", "EXISTS", sum).([]any)[0] }
	s.same("it is known before", known(), int64(1))
	s.play()
	s.same("it is known", known(), int64(0))
}

func functionLoss(s *stage) {
	s.do("FUNCTION", "LOAD", "REPLACE", "#!lua name=witness\nredis.register_function('seen', function() return 1 end)")
	s.play()
	s.same("libraries", len(s.do("FUNCTION", "LIST").([]any)), 0)
}

// ahead is by how much the server's clock is ahead of ours: at least, and at most.
func (s *stage) ahead() (least, most time.Duration) {
	s.Helper()
	server, _ := s.clock()
	before := time.Now()
	answer, err := server.Do(s.Context(), "TIME")
	after := time.Now()
	list, _ := answer.([]any)
	if len(list) != 2 {
		s.Fatalf("TIME: %v, %v", answer, err)
	}
	seconds, _ := strconv.ParseInt(list[0].(string), 10, 64)
	micros, _ := strconv.ParseInt(list[1].(string), 10, 64)
	its := time.Unix(seconds, micros*1000)
	const grain = 5 * time.Millisecond // Redis does not ask for the time at every command
	return its.Sub(after) - grain, its.Sub(before) + grain
}

// stepped: the clock has jumped by so much, no less and no more.
func (s *stage) stepped(least, most time.Duration) {
	s.Helper()
	if from, to := s.ahead(); from > 0 || to < 0 {
		s.Fatalf("it is ahead by %v to %v from the beginning", from, to)
	}
	s.play()
	from, to := s.ahead()
	if to < least || from > most {
		s.Errorf("it is ahead by %v to %v; want %v to %v", from, to, least, most)
	}
	if _, by := s.clock(); by < from || by > to {
		s.Errorf("it is ahead by %v to %v, and was stepped by %v", from, to, by)
	}
}

// clockBack: by seconds to minutes, until everything is settled.
func clockBack(s *stage) {
	s.stepped(-2*time.Minute, -time.Second)
	if err := s.arena.Settle(s.Context()); err != nil {
		s.Fatal(err)
	}
	if from, to := s.ahead(); from > 0 || to < 0 {
		s.Errorf("it is ahead by %v to %v in the end", from, to)
	}
}

// clockForward: by more than a TTL.
func clockForward(s *stage) { s.stepped(s.scene.TTL, time.Minute+s.scene.TTL) }

func flush(s *stage) {
	s.do("SET", "kept", "yes")
	s.play()
	s.same("what was written before", s.do("EXISTS", "kept"), int64(0))
}

// deleteKey: of what locks are kept in one is gone.
func deleteKey(s *stage) {
	names := []string{"one", "two", "three"}
	for _, name := range names {
		s.do("SET", name, "") // no client looks after it
	}
	s.do("SET", "holdfast:store", "")
	s.play()
	s.same("keys that are left", s.do(append([]string{"EXISTS"}, names...)...), int64(2))
	s.same("the store's own", s.do("EXISTS", "holdfast:store"), int64(1))
}

// evict: keys are thrown out, and then there is room again.
func evict(s *stage) {
	for i := range 20 {
		s.do("SET", "key"+strconv.Itoa(i), "")
	}
	s.play()
	if n, _ := strconv.Atoi(s.info("stats", "evicted_keys")); n < 20 {
		s.Errorf("%d keys were thrown out", n)
	}
	s.same("one of them", s.do("EXISTS", "key7"), int64(0))
	for setting, want := range map[string]string{"maxmemory": "0", "maxmemory-policy": "noeviction"} {
		s.same(setting, s.do("CONFIG", "GET", setting).([]any)[1], want)
	}
	s.do("SET", "more", "yes")
}
