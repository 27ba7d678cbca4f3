package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
)

// A script is a history that people can read: moments, one in a line or between semicolons, each with its time in milliseconds. "never" is a
// time too. Reads and writes with "fenced" behind them are of the fenced register.
//
//	10 a1 asks hot p1           process 1 asks for lock hot: attempt 1. try, wait or lead behind it: the way
//	11 a1 queued
//	12 a1 granted 7 1000        token 7, valid until 1000. Or: held, gaveup, guarded, failed
//	13 a1 renewed 1300          with its token; or with that behind it
//	14 a1 looks 1300
//	15 a1 told taken            or expired
//	16 a1 reads                 and: read 5, read stale, read failed
//	17 a1 writes 6              and: wrote ok, wrote stale, wrote failed
//	18 a1 applied write 6       or: applied read 5
//	19 a1 releases              and: released ok, released lost, released failed
//	20 p1 stopped               or: continued, killed, ended 0, rest 3 goroutines, rest 3 descriptors
//	21 fault cut began          or: healed
//	22 round drained            or: draining, leak 3
//	23 inspect hot
//
// Rounds begin at 1 ms; they drain and end behind the last moment, unless the script has a moment of the round itself.
type script struct {
	meta    history.Meta
	records []history.Record
	bases   map[string]history.Record // of attempts
}

// ttl is that of every script: renewals come after 300 ms, and a fault may be felt for 2 s, or 3 s if its name is "guarded".
const ttl = 900 * time.Millisecond

func parse(t *testing.T, text string, changes ...func(*history.Meta)) *history.History {
	t.Helper()
	s := &script{bases: map[string]history.Record{}, meta: history.Meta{
		Store: "toy", Class: "within", TTL: ttl, FIFO: true, Fencing: "durable",
		Locks: []history.LockMeta{{Name: "hot"}, {Name: "warm"}, {Name: "chief", Leader: true}},
		Faults: []history.FaultMeta{{Name: "cut", Class: "within"}, {Name: "guarded", Class: "within", Heals: time.Second},
			{Name: "flush", Class: "beyond", Loses: true, Forgets: true}},
	}}
	for _, change := range changes {
		change(&s.meta)
	}
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == ';' }) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if err := s.moment(words[1], words[2:], at(words[0])); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	}
	last := slices.MaxFunc(s.records, func(a, b history.Record) int { return int(a.At - b.At) }).At
	s.records = append(s.records, history.Record{At: at("1"), Op: history.Round, Phase: history.Began})
	if !strings.Contains(text, "round") {
		for i, phase := range []history.Phase{history.Draining, history.Drained} {
			s.records = append(s.records, history.Record{At: last + driver.Instant(i) + 1, Op: history.Round, Phase: phase})
		}
	}
	s.records = append(s.records, history.Record{At: last + 3, Op: history.Round, Phase: history.Ended})
	h, err := history.New(s.meta, s.records)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func at(word string) driver.Instant {
	if word == "never" {
		return driver.Never
	}
	ms, err := strconv.ParseFloat(word, 64)
	if err != nil {
		panic(err)
	}
	return driver.Instant(ms * float64(time.Millisecond))
}

func number(word string) int64 {
	n, err := strconv.ParseInt(strings.TrimLeft(word, "ap"), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

var outcomes = map[string]history.Outcome{"ok": history.OK, "granted": history.Granted, "held": history.Held, "gaveup": history.GaveUp,
	"guarded": history.Guarded, "failed": history.Failed, "stale": history.Stale, "lost": history.Lost, "expired": history.Expired,
	"taken": history.Taken}

var phases = map[string]history.Phase{"stopped": history.Stopped, "continued": history.Continued, "killed": history.Killed,
	"ended": history.Ended, "rest": history.Rest, "began": history.Began, "healed": history.Healed, "draining": history.Draining,
	"drained": history.Drained, "leak": history.Leak}

func (s *script) lock(name string) uint16 {
	return uint16(slices.IndexFunc(s.meta.Locks, func(l history.LockMeta) bool { return l.Name == name }))
}

func (s *script) moment(subject string, words []string, when driver.Instant) error {
	r := history.Record{At: when, Phase: phases[words[0]]}
	switch {
	case subject == "round":
		r.Op = history.Round
		if len(words) > 1 {
			r.Value = number(words[1])
		}
	case subject == "fault":
		r.Op, r.Phase = history.Fault, phases[words[1]]
		r.Lock = uint16(slices.IndexFunc(s.meta.Faults, func(f history.FaultMeta) bool { return f.Name == words[0] }))
	case subject == "inspect":
		r.Op, r.Phase, r.Lock = history.Inspect, history.Asked, s.lock(words[0])
	case subject[0] == 'p':
		r.Op, r.Process = history.Process, uint32(number(subject))
		if len(words) > 1 {
			r.Value = number(words[1])
			r.Flags = map[string]history.Flag{"goroutines": history.Goroutines, "descriptors": history.Descriptors}[words[len(words)-1]]
		}
	default:
		return s.attempt(subject, words, when)
	}
	s.records = append(s.records, r)
	return nil
}

func (s *script) attempt(subject string, words []string, when driver.Instant) error {
	if words[0] == "asks" {
		s.bases[subject] = history.Record{Attempt: uint64(number(subject)), Process: uint32(number(words[2])),
			Worker: uint16(number(subject)), Lock: s.lock(words[1])}
	}
	r, known := s.bases[subject]
	if !known {
		return fmt.Errorf("there is no %s", subject)
	}
	r.At = when
	if words[len(words)-1] == "fenced" {
		words, r.Flags = words[:len(words)-1], history.Fenced
	}
	switch words[0] {
	case "asks":
		ways := map[string]history.Way{"try": history.ByTry, "wait": history.ByWait, "lead": history.ByLeader}
		r.Op, r.Phase, r.Value = history.Acquire, history.Asked, int64(history.ByLock)
		if len(words) > 3 {
			r.Value = int64(ways[words[3]])
		}
	case "queued":
		r.Op, r.Phase = history.Acquire, history.Queued
	case "granted", "held", "gaveup", "guarded", "failed":
		r.Op, r.Phase, r.Outcome = history.Acquire, history.Done, outcomes[words[0]]
		if len(words) > 1 {
			r.Token, r.Value = uint64(number(words[1])), int64(at(words[2]))
			base := s.bases[subject]
			base.Token = r.Token
			s.bases[subject] = base
		}
	case "renewed":
		r.Op, r.Phase, r.Attempt, r.Value = history.Hold, history.Renewed, 0, int64(at(words[1]))
		if len(words) > 2 {
			r.Token = uint64(number(words[2]))
		}
	case "looks":
		r.Op, r.Phase, r.Value = history.Hold, history.Claimed, int64(at(words[1]))
	case "told":
		r.Op, r.Phase, r.Outcome = history.Hold, history.LossTold, outcomes[words[1]]
	case "releases":
		r.Op, r.Phase = history.Release, history.Asked
	case "released":
		r.Op, r.Phase, r.Outcome = history.Release, history.Done, outcomes[words[1]]
	default:
		return s.access(r, words)
	}
	s.records = append(s.records, r)
	return nil
}

// access is about registers.
func (s *script) access(r history.Record, words []string) error {
	switch words[0] {
	case "reads":
		r.Op, r.Phase = history.Read, history.Asked
	case "read":
		r.Op, r.Phase, r.Outcome = history.Read, history.Done, outcomes[words[1]]
		if r.Outcome == history.None {
			r.Outcome, r.Value = history.OK, number(words[1])
		}
	case "writes":
		r.Op, r.Phase, r.Value = history.Write, history.Asked, number(words[1])
	case "wrote":
		r.Op, r.Phase, r.Outcome = history.Write, history.Done, outcomes[words[1]]
	case "applied":
		r.Op, r.Phase, r.Outcome, r.Value = history.Read, history.Applied, history.OK, number(words[2])
		if words[1] == "write" {
			r.Op = history.Write
		}
	default:
		return fmt.Errorf("what is %q?", words[0])
	}
	s.records = append(s.records, r)
	return nil
}

// A trial is a history, and which checkers find something in it: one name for each violation, in the order of time.
type trial struct {
	name   string
	script string
	want   string
	says   string                // part of what the first says
	change func(m *history.Meta) // may be nil
}

func try(t *testing.T, trials ...trial) {
	t.Helper()
	for _, c := range trials {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			if c.change == nil {
				c.change = func(*history.Meta) {}
			}
			f, err := Round(parse(t, c.script, c.change))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range f.Violations {
				got = append(got, v.Checker)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("it found %q, want %q: %v", got, c.want, f.Violations)
			}
			if c.says != "" && (len(f.Violations) == 0 || !strings.Contains(f.Violations[0].String(), c.says)) {
				t.Errorf("it says %v, want %q", f.Violations, c.says)
			}
		})
	}
}

func beyond(m *history.Meta)      { m.Class = "beyond" }
func volatile(m *history.Meta)    { m.Class, m.Fencing = "beyond", "volatile" }
func unfenced(m *history.Meta)    { m.Fencing = "none" }
func unfencedTwo(m *history.Meta) { m.Class, m.Fencing = "beyond", "none" }
func unordered(m *history.Meta)   { m.FIFO = false }
