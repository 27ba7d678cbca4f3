package report_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/check"
	"holdfast.dev/torture/internal/history"
	"holdfast.dev/torture/internal/report"
)

var meta = history.Meta{
	Number: 3, Seed: 44, Store: "redis", Class: "within", TTL: 300 * time.Millisecond,
	Locks:  []history.LockMeta{{Name: "hot"}, {Name: "warm"}},
	Faults: []history.FaultMeta{{Name: "cut"}, {Name: "worker-stop"}},
}

// begin is when the rounds of the tests do; at is a moment of a round.
const begin = driver.Instant(5 * time.Second)

func at(n int) driver.Instant { return begin + driver.Instant(n)*driver.Instant(time.Millisecond) }

// hold is the records of a hold: asked, granted, and let go if to is not 0.
func hold(attempt, token uint64, process uint32, lock uint16, from, to, validUntil int) []history.Record {
	r := history.Record{Attempt: attempt, Process: process, Worker: uint16(process + 1), Lock: lock}
	asked, granted, release, released := r, r, r, r
	asked.At, asked.Op, asked.Phase, asked.Value = at(from)-1, history.Acquire, history.Asked, int64(history.ByLock)
	granted.At, granted.Op, granted.Phase, granted.Outcome, granted.Token, granted.Value = at(from), history.Acquire, history.Done, history.Granted, token, int64(at(validUntil))
	records := []history.Record{asked, granted}
	if to != 0 {
		release.At, release.Op, release.Phase = at(to), history.Release, history.Asked
		released.At, released.Op, released.Phase, released.Outcome = at(to)+1, history.Release, history.Done, history.OK
		records = append(records, release, released)
	}
	return records
}

// timeline is that of a round of 1 s with these records.
func timeline(t *testing.T, violations []check.Violation, files ...[]history.Record) report.RoundTimeline {
	t.Helper()
	files = append(files, []history.Record{{At: at(0), Op: history.Round, Phase: history.Began}, {At: at(1000), Op: history.Round, Phase: history.Ended}})
	h, err := history.New(meta, files...)
	if err != nil {
		t.Fatal(err)
	}
	got, err := report.Timeline(h, violations, check.Row{Store: "redis", Fault: "cut"})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestTimeline(t *testing.T) {
	lost := hold(2, math.MaxUint64, 2, 1, 300, 0, 600)
	lost = append(lost, history.Record{At: at(650), Op: history.Hold, Phase: history.LossTold, Outcome: history.Expired, Attempt: 2, Process: 2, Lock: 1})
	held := []history.Record{ // TryLock, and somebody has it: no bar
		{At: at(20), Op: history.Acquire, Phase: history.Asked, Attempt: 9, Process: 2, Value: int64(history.ByTry)},
		{At: at(21), Op: history.Acquire, Phase: history.Done, Attempt: 9, Process: 2, Outcome: history.Held},
	}
	world := []history.Record{
		{At: at(100), Op: history.Fault, Phase: history.Began, Lock: 1, Process: 2},
		{At: at(110), Op: history.Process, Phase: history.Stopped, Process: 2},
		{At: at(190), Op: history.Process, Phase: history.Continued, Process: 2},
		{At: at(200), Op: history.Fault, Phase: history.Healed, Lock: 1, Process: 2},
		{At: at(700), Op: history.Fault, Phase: history.Began},
		{At: at(800), Op: history.Process, Phase: history.Killed, Process: 1},
		{At: at(900), Op: history.Process, Phase: history.Stopped, Process: 3},
	}
	forEver := hold(3, 8, 3, 0, 500, 0, 0)
	forEver[1].Value = history.Never
	got := timeline(t, []check.Violation{{Checker: "told", Lock: "warm", At: at(650), What: "late"}, {Checker: "leaks", At: at(2000), What: "a key"}},
		hold(1, 7, 1, 0, 10, 90, 310), lost, held, world, forEver)

	if got.Round != 3 || got.Seed != 44 || got.Lasted != time.Second || !slices.Equal(got.Locks, []string{"hot", "warm"}) || len(got.Rows) != 1 {
		t.Errorf("%+v", got)
	}
	const ms = time.Millisecond
	same(t, "holds", got.Holds, []report.HoldBar{
		{Lock: 0, From: 10 * ms, To: 90 * ms, Attempt: 1, Token: 7, Worker: 2, Process: 1},
		{Lock: 0, From: 500 * ms, To: 1000 * ms, Attempt: 3, Token: 8, Worker: 4, Process: 3},
		{Lock: 1, From: 300 * ms, To: 600 * ms, Attempt: 2, Token: math.MaxUint64, Worker: 3, Process: 2, Lost: true, Told: 650 * ms, Reason: "it ran out"},
	})
	same(t, "overlaps", got.Overlaps, nil)
	same(t, "faults", got.Faults, []report.FaultBar{
		{Name: "worker-stop", From: 100 * ms, To: 200 * ms, Process: 2}, {Name: "cut", From: 700 * ms, To: 1000 * ms, Open: true},
	})
	same(t, "stops", got.Stops, []report.StopBar{{Process: 2, From: 110 * ms, To: 190 * ms}, {Process: 3, From: 900 * ms, To: 1000 * ms}})
	same(t, "deaths", got.Deaths, []report.DeathMark{{Process: 1, At: 800 * ms}})
	same(t, "violations", got.Violations, []report.ViolationMark{
		{At: 650 * ms, Lock: 1, Checker: "told", What: "late"}, {At: 1000 * ms, Lock: -1, Checker: "leaks", What: "a key"},
	})
}

func same[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %+v\nwant %+v", what, got, want)
	}
}

func TestOverlapsOfTheTimeline(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name  string
		holds [][]history.Record
		marks []bool
		want  []report.OverlapBar
	}{
		{"touching", [][]history.Record{hold(1, 1, 1, 0, 10, 20, 900), hold(2, 2, 2, 0, 20, 30, 900)}, []bool{false, false}, nil},
		{"two locks", [][]history.Record{hold(1, 1, 1, 0, 10, 20, 900), hold(2, 2, 2, 1, 15, 30, 900)}, []bool{false, false}, nil},
		{"two", [][]history.Record{hold(1, 1, 1, 0, 10, 20, 900), hold(2, 2, 2, 0, 15, 30, 900)}, []bool{true, true},
			[]report.OverlapBar{{Lock: 0, From: 15 * ms, To: 20 * ms}}},
		{"a long one, and one behind a short one", [][]history.Record{hold(1, 1, 1, 0, 10, 100, 900), hold(2, 2, 2, 0, 15, 20, 900), hold(3, 3, 3, 0, 30, 40, 900),
			hold(4, 4, 4, 0, 100, 110, 900)}, []bool{true, true, true, false},
			[]report.OverlapBar{{Lock: 0, From: 15 * ms, To: 20 * ms}, {Lock: 0, From: 30 * ms, To: 40 * ms}}},
	} {
		got := timeline(t, nil, c.holds...)
		var marks []bool
		for _, h := range got.Holds {
			marks = append(marks, h.Overlap)
		}
		same(t, c.name+": marks", marks, c.marks)
		same(t, c.name, got.Overlaps, c.want)
	}
}

func TestTimelineOfNoHistory(t *testing.T) {
	h, err := history.New(meta, []history.Record{{At: 1, Op: history.Release, Phase: history.Asked, Attempt: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := report.Timeline(h, nil); err == nil {
		t.Error("no error")
	}
}
