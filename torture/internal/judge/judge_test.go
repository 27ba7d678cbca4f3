package judge_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/check"
	"holdfast.dev/torture/internal/history"
	"holdfast.dev/torture/internal/judge"
)

// A story is a round by hand: times are milliseconds, and each attempt has a process and a worker with its number.
type story struct {
	meta    history.Meta
	records []history.Record
}

func instant(ms int) driver.Instant {
	return driver.Instant(time.Second) + driver.Instant(ms)*driver.Instant(time.Millisecond)
}

func (s *story) add(at int, r history.Record) {
	r.At = instant(at)
	s.records = append(s.records, r)
}

func (s *story) attempt(n uint64, at int, r history.Record) {
	r.Attempt, r.Process, r.Worker = n, uint32(n), uint16(n)
	s.add(at, r)
}

// used is a hold: asked for, granted a millisecond later, and released.
func (s *story) used(n, token uint64, from, to int) {
	s.attempt(n, from, history.Record{Op: history.Acquire, Phase: history.Asked, Value: int64(history.ByLock)})
	s.attempt(n, from+1, history.Record{Op: history.Acquire, Phase: history.Done, Outcome: history.Granted, Token: token, Value: int64(instant(from + 900))})
	s.attempt(n, to, history.Record{Op: history.Release, Phase: history.Asked, Token: token})
	s.attempt(n, to+1, history.Record{Op: history.Release, Phase: history.Done, Outcome: history.OK, Token: token})
}

// refused is a try that is told that somebody has the lock. Only linear looks at these.
func (s *story) refused(n uint64, at int) {
	s.attempt(n, at, history.Record{Op: history.Acquire, Phase: history.Asked, Value: int64(history.ByTry)})
	s.attempt(n, at+1, history.Record{Op: history.Acquire, Phase: history.Done, Outcome: history.Held})
}

// left is something that is found in the store at the end. Only check looks for it.
func (s *story) left() { s.add(990, history.Record{Op: history.Round, Phase: history.Leak, Value: 2}) }

func (s *story) fault(from, to int) {
	s.add(from, history.Record{Op: history.Fault, Phase: history.Began})
	s.add(to, history.Record{Op: history.Fault, Phase: history.Healed})
}

// tell is a round of a second, in which two use a lock in turn, one of them after a fault.
func tell(t *testing.T, class string, more func(*story)) *judge.Verdict {
	t.Helper()
	s := &story{meta: history.Meta{Number: 7, Seed: 99, Began: time.Unix(1e9, 0).UTC(), Store: "toy", Class: class, TTL: time.Second,
		Fencing: "durable", FIFO: true, Locks: []history.LockMeta{{Name: "hot"}}, Versions: []string{"toy 1"},
		Faults: []history.FaultMeta{{Name: "cut", Class: class}, {Name: "never", Class: class}}}}
	s.add(0, history.Record{Op: history.Round, Phase: history.Began})
	s.used(1, 1, 100, 200)
	s.fault(300, 310)
	s.used(2, 2, 400, 500)
	s.add(900, history.Record{Op: history.Round, Phase: history.Draining})
	s.add(901, history.Record{Op: history.Round, Phase: history.Drained})
	s.add(1000, history.Record{Op: history.Round, Phase: history.Ended})
	more(s)
	h, err := history.New(s.meta, s.records)
	if err != nil {
		t.Fatal(err)
	}
	v, err := judge.Round(h)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// accusers are the checkers that found something, and counts the violations in the rows, by fault.
func accusers(v *judge.Verdict) (by []string, counts map[string]int) {
	counts = make(map[string]int)
	for _, x := range v.Violations {
		by = append(by, x.Checker)
	}
	for _, row := range v.Rows {
		if row.Violations > 0 {
			counts[row.Fault] = row.Violations
		}
	}
	slices.Sort(by)
	return slices.Compact(by), counts
}

// A good round: what it was, what was done in it, and nothing to complain about.
func TestGood(t *testing.T) {
	v := tell(t, "within", func(*story) {})
	want := &judge.Verdict{Format: judge.Format, Number: 7, Seed: 99, Began: time.Unix(1e9, 0).UTC(), Lasted: time.Second, Store: "toy", Class: "within",
		Versions: []string{"toy 1"}, Rows: v.Rows}
	if !reflect.DeepEqual(v, want) {
		t.Errorf("%+v", v)
	}
	operations := map[string]int{}
	for _, row := range v.Rows {
		operations[row.Fault] = row.Operations
	}
	if want := map[string]int{check.NoFault: 1, "cut": 1}; !reflect.DeepEqual(operations, want) {
		t.Errorf("operations %v, want %v", operations, want)
	}
}

// What either of the two finds is in the violations, and in the row of its fault; the page is there when linear has something to show.
func TestViolations(t *testing.T) {
	for name, c := range map[string]struct {
		class  string
		tell   func(*story)
		by     []string
		counts map[string]int
		page   bool
	}{
		"check":                   {"within", func(s *story) { s.left() }, []string{"leaks"}, map[string]int{"cut": 1}, false},
		"linear":                  {"within", func(s *story) { s.refused(3, 600) }, []string{"linear"}, map[string]int{"cut": 1}, true},
		"linear before any fault": {"within", func(s *story) { s.refused(3, 50) }, []string{"linear"}, map[string]int{check.NoFault: 1}, true},
		"both": {"within", func(s *story) { s.refused(3, 600); s.left() }, []string{"leaks", "linear"},
			map[string]int{"cut": 2}, true},
		"both, of one thing": {"within", func(s *story) { s.used(3, 3, 450, 550) }, []string{"linear", "windows"},
			map[string]int{"cut": 2}, true},
		"without a class":       {"none", func(s *story) { s.refused(3, 600) }, []string{"linear"}, map[string]int{"cut": 1}, true},
		"beyond, linear":        {"beyond", func(s *story) { s.refused(3, 600) }, nil, map[string]int{}, false},
		"beyond, two at once":   {"beyond", func(s *story) { s.used(3, 3, 450, 550) }, nil, map[string]int{}, false},
		"beyond, but no excuse": {"beyond", func(s *story) { s.left() }, []string{"leaks"}, map[string]int{"cut": 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := tell(t, c.class, c.tell)
			by, counts := accusers(v)
			if !slices.Equal(by, c.by) || !reflect.DeepEqual(counts, c.counts) {
				t.Errorf("accused by %v, in the rows %v; want %v, %v\n%v", by, counts, c.by, c.counts, v.Violations)
			}
			if page := string(v.Page); strings.Contains(page, "<html") != c.page || !c.page && v.Page != nil {
				t.Errorf("there is a page of %d bytes; want one: %v", len(page), c.page)
			}
		})
	}
}

// A verdict comes back from JSON as it was, but for the page, which has a file of its own.
func TestAsJSON(t *testing.T) {
	v := tell(t, "within", func(s *story) { s.refused(3, 600) })
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	got := new(judge.Verdict)
	if err := json.Unmarshal(data, got); err != nil {
		t.Fatal(err)
	}
	got.Page = v.Page
	if !reflect.DeepEqual(got, v) || strings.Contains(string(data), "html") {
		t.Errorf("%+v\nbecame\n%+v", v, got)
	}
}

// Records that contradict each other are no history: nobody can say anything about it.
func TestNothingToJudge(t *testing.T) {
	answer := history.Record{At: 1, Op: history.Acquire, Phase: history.Done, Outcome: history.Granted, Attempt: 5}
	h := &history.History{Meta: history.Meta{TTL: time.Second, Locks: []history.LockMeta{{Name: "hot"}}}, Records: []history.Record{answer}}
	for name, h := range map[string]*history.History{"an answer to nothing": h, "no records": {Meta: h.Meta}} {
		if v, err := judge.Round(h); v != nil || err == nil {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}

// A round that came to no proper end is a violation, whatever its records say.
func TestBroken(t *testing.T) {
	v := tell(t, "within", func(s *story) { s.meta.Broken = "a worker process ended with code 2" })
	by, _ := accusers(v)
	if len(by) != 1 || by[0] != "round" || len(v.Rows) != 1 || v.Rows[0].Violations != 1 || !strings.Contains(v.Violations[0].What, "ended with code 2") {
		t.Errorf("%+v", v)
	}
}
