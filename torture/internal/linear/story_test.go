package linear_test

import (
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
	"holdfast.dev/torture/internal/linear"
)

// A story is a history by hand, of locks with a TTL of a second. Times are milliseconds. Each attempt has a process and a worker of
// its own, with its number.
type story struct {
	meta    history.Meta
	lock    uint16
	records []history.Record
}

func newStory() *story {
	s := &story{meta: history.Meta{TTL: time.Second, Fencing: "durable", Locks: []history.LockMeta{{Name: "a"}, {Name: "b"}},
		Faults: []history.FaultMeta{{Name: "storm"}}}}
	s.add(0, history.Record{Op: history.Round, Phase: history.Began})
	return s
}

// never is a valid-until that does not come.
const never = -1

func instant(ms int) driver.Instant {
	if ms == never {
		return driver.Never
	}
	return driver.Instant(time.Hour) + driver.Instant(ms)*driver.Instant(time.Millisecond)
}

func (s *story) add(at int, r history.Record) {
	r.At, r.Lock = instant(at), s.lock
	if r.Op == history.Fault {
		r.Lock = 0
	}
	s.records = append(s.records, r)
}

func (s *story) attempt(n uint64, at int, r history.Record) {
	r.Attempt, r.Process, r.Worker = n, uint32(n), uint16(n)
	s.add(at, r)
}

// granted is an attempt that got the lock.
func (s *story) granted(n, token uint64, asked, answered, until int) {
	s.attempt(n, asked, history.Record{Op: history.Acquire, Phase: history.Asked, Value: int64(history.ByLock)})
	s.attempt(n, answered, history.Record{Op: history.Acquire, Phase: history.Done, Outcome: history.Granted, Token: token, Value: int64(instant(until))})
}

// answered is an attempt with another outcome; at 0 none comes.
func (s *story) answered(n uint64, way history.Way, asked, at int, outcome history.Outcome) {
	s.attempt(n, asked, history.Record{Op: history.Acquire, Phase: history.Asked, Value: int64(way)})
	if at != 0 {
		s.attempt(n, at, history.Record{Op: history.Acquire, Phase: history.Done, Outcome: outcome})
	}
}

func (s *story) refused(n uint64, asked, at int) {
	s.answered(n, history.ByTry, asked, at, history.Held)
}

// released is the release of an attempt; at 0 no answer comes.
func (s *story) released(n uint64, asked, at int, outcome history.Outcome) {
	s.attempt(n, asked, history.Record{Op: history.Release, Phase: history.Asked})
	if at != 0 {
		s.attempt(n, at, history.Record{Op: history.Release, Phase: history.Done, Outcome: outcome})
	}
}

// used is a hold as most are: granted, and released with an answer.
func (s *story) used(n, token uint64, from, to int) {
	s.granted(n, token, from, from+1, from+990)
	s.released(n, to, to+1, history.OK)
}

func (s *story) renewed(n, token uint64, at, until int) {
	s.add(at, history.Record{Op: history.Hold, Phase: history.Renewed, Process: uint32(n), Token: token, Value: int64(instant(until))})
}

func (s *story) claimed(n uint64, at, until int) {
	s.attempt(n, at, history.Record{Op: history.Hold, Phase: history.Claimed, Value: int64(instant(until))})
}

func (s *story) told(n uint64, at int) {
	s.attempt(n, at, history.Record{Op: history.Hold, Phase: history.LossTold, Outcome: history.Expired})
}

func (s *story) killed(n uint64, at int) {
	s.add(at, history.Record{Op: history.Process, Phase: history.Killed, Process: uint32(n)})
}

// fault is one of a process; of 0 it concerns all.
func (s *story) fault(n uint64, from, to int) {
	s.add(from, history.Record{Op: history.Fault, Phase: history.Began, Process: uint32(n)})
	s.add(to, history.Record{Op: history.Fault, Phase: history.Healed, Process: uint32(n)})
}

func (s *story) stopped(n uint64, from, to int) {
	s.add(from, history.Record{Op: history.Process, Phase: history.Stopped, Process: uint32(n)})
	s.add(to, history.Record{Op: history.Process, Phase: history.Continued, Process: uint32(n)})
}

func (s *story) ends(at int) { s.add(at, history.Record{Op: history.Round, Phase: history.Ended}) }

func (s *story) history(t *testing.T) *history.History {
	t.Helper()
	h, err := history.New(s.meta, s.records)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func checked(t *testing.T, h *history.History) linear.Result {
	t.Helper()
	r, err := linear.Check(h, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A tale is a story, and what is to be said about it: nothing, or one violation with these words in it.
type tale struct {
	name string
	tell func(s *story)
	want string
}

func tellAll(t *testing.T, tales []tale) {
	for _, c := range tales {
		t.Run(c.name, func(t *testing.T) {
			s := newStory()
			c.tell(s)
			r := checked(t, s.history(t))
			if r.Unknown != 0 {
				t.Errorf("%d undecided", r.Unknown)
			}
			if c.want == "" {
				for _, v := range r.Violations {
					t.Errorf("a false alarm: %v", v)
				}
				return
			}
			if len(r.Violations) == 0 {
				t.Fatal("nothing was found")
			}
			if v := r.Violations[0]; v.Checker != "linear" || !strings.Contains(v.What, c.want) {
				t.Errorf("%v\nwant %q", v, c.want)
			}
		})
	}
}
