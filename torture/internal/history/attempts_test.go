package history_test

import (
	"slices"
	"testing"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/history"
)

func attempts(t *testing.T, records ...history.Record) []*history.Attempt {
	t.Helper()
	h, err := history.New(meta, records)
	if err != nil {
		t.Fatal(err)
	}
	all, err := h.Attempts()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A hold with a renewal that was recorded before its grant was, a look, a loss and a release.
func TestOneHold(t *testing.T) {
	a := attempts(t,
		history.Record{At: 10, Op: history.Acquire, Phase: history.Asked, Attempt: 1, Process: 4, Value: int64(history.ByTry)},
		history.Record{At: 12, Op: history.Acquire, Phase: history.Queued, Attempt: 1, Process: 4},
		history.Record{At: 13, Op: history.Acquire, Phase: history.Queued, Attempt: 1, Process: 4},
		history.Record{At: 19, Op: history.Hold, Phase: history.Renewed, Process: 4, Token: 7, Value: 55},
		history.Record{At: 20, Op: history.Acquire, Phase: history.Done, Outcome: history.Granted, Attempt: 1, Process: 4, Token: 7, Value: 50},
		history.Record{At: 30, Op: history.Hold, Phase: history.Renewed, Process: 4, Token: 7, Value: 70},
		history.Record{At: 76, Op: history.Hold, Phase: history.Claimed, Attempt: 1, Process: 4, Value: 76}, // it looks, and it is over
		history.Record{At: 80, Op: history.Hold, Phase: history.Claimed, Attempt: 1, Process: 4, Value: 95},
		history.Record{At: 90, Op: history.Hold, Phase: history.LossTold, Outcome: history.Expired, Attempt: 1, Process: 4},
		history.Record{At: 99, Op: history.Release, Phase: history.Asked, Attempt: 1, Process: 4},
		history.Record{At: 101, Op: history.Release, Phase: history.Done, Outcome: history.Lost, Attempt: 1, Process: 4},
		history.Record{At: 110, Op: history.Process, Phase: history.Ended, Process: 4},
	)[0]
	if a.Way != history.ByTry || a.Queued != 12 || a.Answered != 20 || a.Token != 7 || a.Reason != history.Expired || a.Died != 0 {
		t.Errorf("%+v", a)
	}
	if len(a.Claims) != 4 {
		t.Errorf("claims %v", a.Claims)
	}
	if a.End() != 90 || a.Until() != 90 {
		t.Errorf("it ends at %d, and lasts until %d", a.End(), a.Until())
	}
	if got, want := a.Windows(), []history.Span{{From: 20, To: 70}, {From: 80, To: 90}}; !slices.Equal(got, want) {
		t.Errorf("windows %v", got)
	}
}

func TestDeath(t *testing.T) {
	all := attempts(t,
		history.Record{At: 10, Op: history.Acquire, Phase: history.Asked, Attempt: 1, Process: 4},
		history.Record{At: 20, Op: history.Acquire, Phase: history.Done, Outcome: history.Granted, Attempt: 1, Process: 4, Token: 7, Value: history.Never},
		history.Record{At: 21, Op: history.Acquire, Phase: history.Asked, Attempt: 2, Process: 4},
		history.Record{At: 22, Op: history.Acquire, Phase: history.Asked, Attempt: 3, Process: 4},
		history.Record{At: 23, Op: history.Acquire, Phase: history.Done, Outcome: history.Held, Attempt: 3, Process: 4},
		history.Record{At: 40, Op: history.Process, Phase: history.Killed, Process: 4},
		history.Record{At: 44, Op: history.Process, Phase: history.Ended, Process: 4},
	)
	if all[0].Until() != 40 || all[1].Died != 40 || all[2].Died != 0 {
		t.Errorf("%+v %+v %+v", all[0], all[1], all[2])
	}
}

func TestFaultsAndStops(t *testing.T) {
	h, err := history.New(meta, []history.Record{
		{At: 1, Op: history.Round, Phase: history.Began},
		{At: 5, Op: history.Fault, Phase: history.Began, Process: 2},
		{At: 6, Op: history.Process, Phase: history.Stopped, Process: 2},
		{At: 7, Op: history.Process, Phase: history.Continued, Process: 2},
		{At: 8, Op: history.Fault, Phase: history.Healed, Process: 2},
		{At: 8, Op: history.Process, Phase: history.Starved, Process: 2, Value: 4},
		{At: 9, Op: history.Fault, Phase: history.Began},
		{At: 10, Op: history.Process, Phase: history.Stopped, Process: 2},
		{At: 12, Op: history.Round, Phase: history.Ended},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []history.FaultSpan{{Span: history.Span{From: 5, To: 8}, Process: 2, Healed: true}, {Span: history.Span{From: 9, To: 12}}}
	if got := h.Faults(); !slices.Equal(got, want) {
		t.Errorf("faults %+v", got)
	}
	if got := h.Stops()[2]; !slices.Equal(got, []history.Span{{From: 6, To: 7}, {From: 4, To: 8}, {From: 10, To: driver.Never}}) {
		t.Errorf("stops %+v", got)
	}
	if h.When(history.Ended) != 12 || h.When(history.Drained) != 0 {
		t.Error("when")
	}
}

func TestStrayRecords(t *testing.T) {
	for name, records := range map[string][]history.Record{
		"an answer that nobody asked for": {{At: 1, Op: history.Acquire, Phase: history.Done, Attempt: 9}},
		"asked twice":                     {{At: 1, Op: history.Acquire, Phase: history.Asked, Attempt: 9}, {At: 2, Op: history.Acquire, Phase: history.Asked, Attempt: 9}},
	} {
		h, err := history.New(meta, records)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Attempts(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
