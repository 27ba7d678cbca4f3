package linear_test

import (
	"testing"

	"holdfast.dev/torture/internal/history"
)

func TestUnknown(t *testing.T) { tellAll(t, unknown) }

const nobody = "while nobody had the lock"

// An attempt of which nobody knows the outcome can be why others are refused: each kind of it, and its limits.
var unknown = []tale{
	{"gave up", func(s *story) {
		s.answered(1, history.ByWait, 10, 20, history.GaveUp)
		s.refused(2, 30, 31)
	}, ""},
	{"gave up, long ago", func(s *story) {
		s.answered(1, history.ByWait, 10, 20, history.GaveUp)
		s.refused(2, 3021, 3022)
	}, nobody},
	{"gave up, on another lock", func(s *story) {
		s.answered(1, history.ByWait, 10, 20, history.GaveUp)
		s.lock = 1
		s.refused(2, 30, 31)
	}, nobody},
	{"failed", func(s *story) {
		s.answered(1, history.ByTry, 10, 20, history.Failed)
		s.refused(2, 30, 31)
	}, ""},
	{"failed, but was not asked for yet", func(s *story) {
		s.refused(2, 5, 9)
		s.answered(1, history.ByTry, 10, 20, history.Failed)
	}, nobody},
	{"failed in a fault, and its request came late", func(s *story) {
		s.answered(1, history.ByTry, 10, 20, history.Failed)
		s.fault(0, 15, 5000)
		s.refused(2, 7999, 8000)
	}, ""},
	{"failed in a fault, too long ago", func(s *story) {
		s.answered(1, history.ByTry, 10, 20, history.Failed)
		s.fault(0, 15, 5000)
		s.refused(2, 8001, 8002)
	}, nobody},
	{"failed in a fault of its own process", func(s *story) {
		s.answered(1, history.ByTry, 10, 20, history.Failed)
		s.fault(1, 15, 5000)
		s.refused(2, 7999, 8000)
	}, ""},
	{"failed in a fault of another process", func(s *story) {
		s.answered(1, history.ByTry, 10, 20, history.Failed)
		s.fault(3, 15, 5000)
		s.refused(2, 7999, 8000)
	}, nobody},
	{"failed, and its process was stopped", func(s *story) {
		s.answered(1, history.ByTry, 10, 20, history.Failed)
		s.stopped(1, 25, 4000)
		s.refused(2, 6900, 6901)
	}, ""},
	{"failed, and another's process was stopped", func(s *story) {
		s.answered(1, history.ByTry, 10, 20, history.Failed)
		s.stopped(3, 25, 4000)
		s.refused(2, 6900, 6901)
	}, nobody},
	{"no answer", func(s *story) {
		s.answered(1, history.ByLock, 10, 0, history.None)
		s.refused(2, 9000, 9001)
	}, ""},
	{"died before its answer", func(s *story) {
		s.answered(1, history.ByTry, 10, 0, history.None)
		s.killed(1, 30)
		s.refused(2, 3029, 3030)
	}, ""},
	{"died before its answer, long ago", func(s *story) {
		s.answered(1, history.ByTry, 10, 0, history.None)
		s.killed(1, 30)
		s.refused(2, 3031, 3032)
	}, nobody},
	{"guarded: an answer that leaves nothing", func(s *story) {
		s.answered(1, history.ByTry, 10, 20, history.Guarded)
		s.refused(2, 30, 31)
	}, nobody},
	{"refused: an answer that leaves nothing", func(s *story) {
		s.used(3, 1, 5, 15)
		s.refused(1, 10, 20)
		s.refused(2, 30, 31)
	}, nobody},
	{"refused in a fault: perhaps asked for twice", func(s *story) {
		s.used(3, 1, 5, 15)
		s.fault(0, 1, 18)
		s.refused(1, 10, 20)
		s.refused(2, 30, 31)
	}, ""},
	{"refused after a fault", func(s *story) {
		s.used(3, 1, 5, 15)
		s.fault(0, 1, 9)
		s.refused(1, 10, 20)
		s.refused(2, 30, 31)
	}, nobody},
	{"refused in a fault of another", func(s *story) {
		s.used(3, 1, 5, 15)
		s.fault(9, 1, 18)
		s.refused(1, 10, 20)
		s.refused(2, 30, 31)
	}, nobody},
	{"a try as long as a TTL", func(s *story) {
		s.used(1, 1, 5, 20)
		s.refused(2, 10, 1500)
		s.refused(3, 600, 601)
	}, ""},
	{"two tries refuse each other", func(s *story) {
		s.refused(2, 10, 50)
		s.refused(3, 20, 60)
	}, nobody},
	{"granted again, unseen, after a grant that was learned late", func(s *story) {
		s.granted(1, 1, 10, 1200, 990)
		s.used(2, 2, 1000, 1100)
		s.refused(3, 1250, 1251)
		s.released(1, 1300, 1301, history.OK)
	}, ""},
	{"granted again, unseen, but released by now", func(s *story) {
		s.granted(1, 1, 10, 1200, 990)
		s.used(2, 2, 1000, 1100)
		s.released(1, 1300, 1301, history.OK)
		s.refused(3, 1350, 1351)
	}, nobody},
	{"a dead holder's renewals, which came late", func(s *story) {
		s.granted(1, 1, 10, 11, 900)
		s.renewed(1, 1, 4000, 5000)
		s.killed(1, 4500)
		s.used(2, 2, 5100, 5110)
		s.refused(3, 7900, 7901)
	}, ""},
	{"a hold whose release nobody confirmed", func(s *story) {
		s.granted(1, 1, 10, 11, 900)
		s.released(1, 20, 0, history.None)
		s.refused(2, 500, 501)
	}, ""},
	{"it does not let two have the lock", func(s *story) {
		s.answered(1, history.ByTry, 10, 20, history.Failed)
		s.used(2, 1, 30, 100)
		s.used(3, 2, 50, 60)
	}, "attempt 3 of worker 3 was granted"},
}

// Each was granted once, if at all.
func TestUnknownOnce(t *testing.T) {
	// gaps are n refusals, with a hold between any two.
	gaps := func(s *story, n int) {
		for i := range n {
			at := 100 + 50*i
			s.refused(uint64(100+i), at, at+1)
			s.used(uint64(200+i), uint64(i+1), at+10, at+20)
		}
	}
	fail := func(s *story, numbers ...uint64) {
		for _, n := range numbers {
			s.answered(n, history.ByTry, 10, 20, history.Failed)
		}
	}
	tellAll(t, []tale{
		{"two refusals at a time", func(s *story) {
			fail(s, 1)
			s.refused(2, 30, 31)
			s.refused(3, 32, 33)
			s.used(4, 1, 40, 50)
		}, ""},
		{"two refusals with a hold between them", func(s *story) { fail(s, 1); gaps(s, 2) }, "attempt 101 of worker 101 was refused"},
		{"the same while it is asking", func(s *story) { // a try stands in no line
			s.answered(1, history.ByTry, 10, 900, history.Failed)
			gaps(s, 2)
		}, "attempt 101 of worker 101 was refused"},
		{"two attempts explain two", func(s *story) { fail(s, 1, 2); gaps(s, 2) }, ""},
		{"but not three", func(s *story) { fail(s, 1, 2); gaps(s, 3) }, "attempt 102 of worker 102 was refused"},
		{"three explain three", func(s *story) { fail(s, 1, 2, 3); gaps(s, 3) }, ""},
		{"so many that anything is explained", func(s *story) {
			fail(s, 1, 2, 3, 4, 5, 6, 7, 8, 9)
			gaps(s, 10)
		}, ""},
		{"one that comes between counts for the second only", func(s *story) { // the choice for the first one must not be the last word
			fail(s, 1)
			gaps(s, 1)
			s.answered(2, history.ByTry, 122, 123, history.Failed)
			s.refused(300, 130, 131)
			s.used(301, 10, 140, 141)
		}, ""},
		{"and not for the first", func(s *story) {
			gaps(s, 1)
			s.answered(2, history.ByTry, 122, 123, history.Failed)
			s.refused(300, 130, 131)
		}, nobody},
	})
}
