package linear_test

import (
	"testing"

	"holdfast.dev/torture/internal/history"
)

func TestGood(t *testing.T) { tellAll(t, good) }

func TestBad(t *testing.T) { tellAll(t, bad) }

// What a right lock can leave.
var good = []tale{
	{"one after the other", func(s *story) {
		s.used(1, 1, 10, 20)
		s.used(2, 2, 30, 40)
	}, ""},
	{"one waits for the other", func(s *story) {
		s.used(1, 1, 10, 100)
		s.granted(2, 5, 20, 102, 1000)
		s.released(2, 200, 201, history.OK)
	}, ""},
	{"granted before the release had its answer", func(s *story) {
		s.granted(1, 1, 10, 11, 1000)
		s.released(1, 100, 150, history.OK)
		s.granted(2, 2, 20, 120, 1100)
		s.released(2, 130, 131, history.OK)
	}, ""},
	{"granted when the other had run out", func(s *story) {
		s.granted(1, 1, 10, 11, 1000)
		s.granted(2, 2, 20, 1001, 2000)
	}, ""},
	{"granted at the very moment", func(s *story) {
		s.granted(1, 1, 10, 11, 1000)
		s.granted(2, 2, 20, 1000, 2000)
	}, ""},
	{"granted when the renewed one had run out", func(s *story) {
		s.granted(1, 1, 10, 11, 1000)
		s.renewed(1, 1, 400, 1400)
		s.granted(2, 2, 20, 1401, 2400)
	}, ""},
	{"granted after a loss was told", func(s *story) {
		s.granted(1, 1, 10, 11, 1000)
		s.told(1, 500)
		s.granted(2, 2, 20, 501, 1500)
	}, ""},
	{"learned when it had run out, and others had been there", func(s *story) {
		s.granted(1, 1, 10, 3000, 1000)
		s.used(2, 2, 1100, 1200)
		s.used(3, 3, 1300, 1400)
		s.released(1, 3001, 3002, history.Lost)
	}, ""},
	{"two who ask a majority refuse each other", func(s *story) {
		s.meta.Votes = true
		s.refused(1, 50, 52)
		s.refused(2, 51, 53)
		s.used(3, 1, 60, 70)
	}, ""},
	{"a release that failed, and was done later", func(s *story) {
		s.granted(1, 1, 10, 11, 900)
		s.released(1, 100, 200, history.Failed)
		s.refused(2, 300, 301)
		s.refused(3, 1500, 1501)
		s.used(4, 2, 1600, 1700)
	}, ""},
	{"dead, where nothing runs out", func(s *story) {
		s.granted(1, 1, 10, 11, never)
		s.killed(1, 500)
		s.granted(2, 2, 20, 501, never)
	}, ""},
	{"without tokens", func(s *story) {
		s.meta.Fencing = "none"
		s.used(1, 0, 10, 20)
		s.used(2, 0, 30, 40)
	}, ""},
	{"refused while somebody had it", func(s *story) {
		s.used(1, 1, 10, 100)
		s.refused(2, 50, 51)
	}, ""},
	{"refused while somebody got it", func(s *story) {
		s.granted(1, 1, 10, 60, 1000)
		s.refused(2, 50, 51)
		s.released(1, 61, 62, history.OK)
	}, ""},
	{"refused while somebody released it", func(s *story) {
		s.granted(1, 1, 10, 11, 1000)
		s.released(1, 40, 60, history.OK)
		s.refused(2, 50, 51)
	}, ""},
	{"refused with somebody in front", func(s *story) { // who is overtaken later, because it was stopped
		s.answered(1, history.ByLock, 10, 500, history.Failed)
		s.refused(2, 50, 51)
		s.used(3, 1, 60, 70)
		s.refused(4, 80, 81)
		s.used(5, 2, 90, 100)
		s.refused(6, 110, 111)
	}, ""},
	{"many", many, ""},
	{"many that are stopped, and learn late that they had it", func(s *story) {
		for i := range 40 {
			s.granted(uint64(i+1), uint64(i+1), 100-i, 99_000, 1000*i+1000)
		}
		s.used(100, 100, 99_100, 99_110)
	}, ""},
	{"many after one that was learned late", func(s *story) {
		s.granted(900, 1, 10, 3000, 1000)
		s.released(900, 3001, 3002, history.Lost)
		for i := range 200 {
			s.used(uint64(i+1), uint64(i+2), 1020+20*i, 1030+20*i)
		}
	}, ""},
	{"two locks", func(s *story) {
		s.used(1, 1, 10, 100)
		s.lock = 1
		s.used(2, 1, 10, 100)
	}, ""},
}

// many are holds one after the other, tokens from 1 on, until 4020.
func many(s *story) {
	for i := range 200 {
		s.used(uint64(i+1), uint64(i+1), 20+20*i, 30+20*i)
	}
}

// What none can.
var bad = []tale{
	{"granted to two", func(s *story) {
		s.used(1, 1, 10, 100)
		s.used(2, 2, 20, 90)
	}, "attempt 2 of worker 2 was granted token 2 between 20.000 ms and 21.000 ms, while attempt 1 of worker 1 had the lock with token 1, until 100.000 ms at least (release asked)"},
	{"granted a moment before the other can have run out", func(s *story) {
		s.granted(1, 1, 10, 11, 1000)
		s.granted(2, 2, 20, 999, 2000)
	}, "until 1000.000 ms at least (valid until)"},
	{"granted in spite of a renewal", func(s *story) {
		s.granted(1, 1, 10, 11, 1000)
		s.renewed(1, 1, 400, 1400)
		s.granted(2, 2, 20, 1390, 2400)
	}, "until 1400.000 ms at least"},
	{"granted in spite of a renewal, after a look that did not know of it", func(s *story) {
		s.granted(1, 1, 10, 11, 1000)
		s.renewed(1, 1, 400, 1400)
		s.claimed(1, 401, 1000)
		s.granted(2, 2, 20, 1390, 2400)
	}, "until 1400.000 ms at least"},
	{"granted while a dead one's time had not run out", func(s *story) {
		s.granted(1, 1, 10, 11, 1000)
		s.killed(1, 100)
		s.granted(2, 2, 200, 210, 1200)
	}, "until 1000.000 ms at least"},
	{"granted before the other died, where nothing runs out", func(s *story) {
		s.granted(1, 1, 10, 11, never)
		s.killed(1, 500)
		s.granted(2, 2, 20, 499, never)
	}, "process died"},
	{"the token falls", func(s *story) {
		s.used(1, 5, 10, 20)
		s.used(2, 4, 30, 40)
	}, "not greater than the last token 5"},
	{"the token comes again", func(s *story) {
		s.used(1, 5, 10, 20)
		s.used(2, 5, 30, 40)
	}, "not greater than the last token 5"},
	{"the token falls after many", func(s *story) {
		many(s)
		s.used(900, 20, 5000, 5010)
	}, "granted token 20 between 5000.000 ms and 5001.000 ms, which is not greater than the last token"},
	{"the token falls after many were refused", func(s *story) {
		s.granted(1, 5, 10, 11, never)
		for i := range 200 {
			s.refused(uint64(100+i), 20+10*i, 22+10*i)
		}
		s.released(1, 4000, 4001, history.OK)
		s.used(2, 4, 5000, 5010)
	}, "not greater than the last token 5"},
	{"granted to two, after many", func(s *story) {
		many(s)
		s.granted(900, 900, 4100, 4101, never)
		for i := range 200 {
			s.refused(uint64(1000+i), 4200+10*i, 4202+10*i)
		}
		s.used(901, 901, 9000, 9010)
	}, "attempt 901 of worker 901 was granted token 901"},
	{"no token", func(s *story) { s.used(1, 0, 10, 20) }, "not greater than the last token 0"},
	{"granted to two, without tokens", func(s *story) {
		s.meta.Fencing = "none"
		s.used(1, 0, 10, 100)
		s.used(2, 0, 20, 90)
	}, "while attempt 1"},
	{"granted to two, by a majority each", func(s *story) {
		s.meta.Votes = true
		s.used(1, 1, 10, 100)
		s.refused(2, 20, 21)
		s.used(3, 2, 30, 90)
	}, "while attempt 1"},
	{"refused though nobody had it", func(s *story) {
		s.used(1, 1, 10, 20)
		s.refused(2, 50, 51)
		s.used(3, 2, 60, 70)
	}, "attempt 2 of worker 2 was refused between 50.000 ms and 51.000 ms, while nobody had the lock"},
	{"refused though nobody had ever had it", func(s *story) { s.refused(2, 50, 51) }, "while nobody had the lock"},
	{"refused because of another lock", func(s *story) {
		s.used(1, 1, 10, 100)
		s.lock = 1
		s.refused(2, 50, 51)
	}, "while nobody had the lock"},
	{"a hold that comes back", func(s *story) {
		s.granted(1, 1, 10, 11, 1000)
		s.used(2, 2, 1100, 1200)
		s.renewed(1, 1, 1300, 2300)
	}, "attempt 2 of worker 2 was granted token 2"},
	{"a release of somebody else's hold", func(s *story) {
		s.granted(1, 1, 10, 11, 1000)
		s.granted(2, 2, 1100, 1101, 2100)
		s.released(1, 1150, 1151, history.OK)
		s.used(3, 3, 1200, 1210)
		s.released(2, 1300, 1301, history.Lost)
	}, "attempt 3 of worker 3 was granted token 3 between 1200.000 ms and 1201.000 ms, while attempt 2 of worker 2 had the lock"},
}
