package report

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/check"
	"holdfast.dev/torture/internal/history"
)

// A RoundTimeline is a round to look at. All moments are counted from its beginning; what lasts for ever ends with the round.
type RoundTimeline struct {
	Round  int           `json:"round"`
	Seed   uint64        `json:"seed"`
	Store  string        `json:"store"`
	Class  string        `json:"class"`
	Lasted time.Duration `json:"lasted"` // its span: from its first record to its last
	TTL    time.Duration `json:"ttl"`
	Locks  []string      `json:"locks"` // their names; what is below has an index

	Holds      []HoldBar       `json:"holds"`
	Overlaps   []OverlapBar    `json:"overlaps,omitempty"`
	Faults     []FaultBar      `json:"faults,omitempty"`
	Stops      []StopBar       `json:"stops,omitempty"`
	Deaths     []DeathMark     `json:"deaths,omitempty"`
	Violations []ViolationMark `json:"violations,omitempty"`
	Rows       []check.Row     `json:"rows,omitempty"`
}

// A HoldBar is a stretch in which somebody believed that it held a lock. A hold that was in doubt for a while has several.
type HoldBar struct {
	Lock    int           `json:"lock"`
	From    time.Duration `json:"from"`
	To      time.Duration `json:"to"`
	Attempt uint64        `json:"attempt,string"` // strings, because JavaScript would round them
	Token   uint64        `json:"token,string"`
	Worker  int           `json:"worker"`
	Process uint32        `json:"process"`
	Lost    bool          `json:"lost,omitempty"`    // the holder was told of a loss
	Told    time.Duration `json:"told,omitempty"`    // when it was
	Reason  string        `json:"reason,omitempty"`  // of the loss
	Overlap bool          `json:"overlap,omitempty"` // somebody else believed the same, at some time of it
}

// An OverlapBar is a stretch in which two believed that they held one lock.
type OverlapBar struct {
	Lock int           `json:"lock"`
	From time.Duration `json:"from"`
	To   time.Duration `json:"to"`
}

// A FaultBar is a fault, from its beginning until everything worked again.
type FaultBar struct {
	Name    string        `json:"name"`
	From    time.Duration `json:"from"`
	To      time.Duration `json:"to"`
	Process uint32        `json:"process,omitempty"` // whom it concerned; 0: all
	Open    bool          `json:"open,omitempty"`    // it was not over at the end of the round
}

// A StopBar is a stretch in which a process stood still.
type StopBar struct {
	Process uint32        `json:"process"`
	From    time.Duration `json:"from"`
	To      time.Duration `json:"to"`
}

// A DeathMark is the moment at which a process was killed.
type DeathMark struct {
	Process uint32        `json:"process"`
	At      time.Duration `json:"at"`
}

// A ViolationMark is the moment of a violation.
type ViolationMark struct {
	At      time.Duration `json:"at"`
	Lock    int           `json:"lock"` // −1: it is about no lock
	Checker string        `json:"checker"`
	What    string        `json:"what"`
}

// Timeline returns a round to look at, with the violations that were found in it and the figures that were computed of it. The error
// is that of History.Attempts: the history is none.
func Timeline(h *history.History, violations []check.Violation, rows ...check.Row) (RoundTimeline, error) {
	attempts, err := h.Attempts()
	if err != nil {
		return RoundTimeline{}, err
	}
	s := scale{h.Records[0].At, h.Records[len(h.Records)-1].At}
	t := RoundTimeline{
		Round: h.Meta.Number, Seed: h.Meta.Seed, Store: h.Meta.Store, Class: h.Meta.Class,
		Lasted: s.end.Sub(s.begin), TTL: h.Meta.TTL, Rows: rows, Holds: []HoldBar{},
	}
	for _, l := range h.Meta.Locks {
		t.Locks = append(t.Locks, l.Name)
	}
	for _, a := range attempts {
		t.Holds = append(t.Holds, s.bars(a)...)
	}
	slices.SortStableFunc(t.Holds, func(a, b HoldBar) int { return cmp.Or(cmp.Compare(a.Lock, b.Lock), cmp.Compare(a.From, b.From)) })
	t.Overlaps = overlaps(t.Holds)
	for _, f := range h.Faults() {
		t.Faults = append(t.Faults, FaultBar{h.Meta.Faults[f.Index].Name, s.at(f.From), s.at(f.To), f.Process, !f.Healed})
	}
	stops := h.Stops()
	for _, process := range slices.Sorted(maps.Keys(stops)) {
		for _, stop := range stops[process] {
			t.Stops = append(t.Stops, StopBar{process, s.at(stop.From), s.at(stop.To)})
		}
	}
	for _, r := range h.Records {
		if r.Op == history.Process && r.Phase == history.Killed {
			t.Deaths = append(t.Deaths, DeathMark{r.Process, s.at(r.At)})
		}
	}
	for _, v := range violations {
		t.Violations = append(t.Violations, ViolationMark{s.at(v.At), slices.Index(t.Locks, v.Lock), v.Checker, v.What})
	}
	return t, nil
}

// A scale turns instants into moments of a round.
type scale struct{ begin, end driver.Instant }

func (s scale) at(i driver.Instant) time.Duration { return min(max(i, s.begin), s.end).Sub(s.begin) }

// bars are the windows of an attempt: none, if it was not granted.
func (s scale) bars(a *history.Attempt) []HoldBar {
	var bars []HoldBar
	for _, w := range a.Windows() {
		bars = append(bars, HoldBar{
			Lock: int(a.Lock), From: s.at(w.From), To: s.at(w.To), Attempt: a.Number, Token: a.Token, Worker: int(a.Worker), Process: a.Process,
		})
	}
	if a.LossTold != 0 && len(bars) > 0 {
		last := &bars[len(bars)-1]
		last.Lost, last.Told, last.Reason = true, s.at(a.LossTold), reason(a.Reason)
	}
	return bars
}

// reason is why a hold was lost, for people.
func reason(o history.Outcome) string {
	switch o {
	case history.Expired:
		return "it ran out"
	case history.Taken:
		return "the store does not know it any more"
	case history.Session:
		return "the session ended"
	case history.Broken:
		return "an administrator broke it"
	case history.MaxHold:
		return "its own limit"
	}
	return ""
}

// overlaps marks the holds that overlap others of their lock, and returns where. They are in the order of locks and beginnings: so each
// has to be compared only with the one that, of those before it, ends last. If it overlaps yet another, that one overlaps the last one too,
// and is marked.
func overlaps(holds []HoldBar) []OverlapBar {
	var found []OverlapBar
	last := -1
	for i := range holds {
		hold := &holds[i]
		if last < 0 || holds[last].Lock != hold.Lock {
			last = i
			continue
		}
		if other := &holds[last]; hold.From < other.To { // windows of one hold are apart: these are two
			hold.Overlap, other.Overlap = true, true
			found = append(found, OverlapBar{hold.Lock, hold.From, min(hold.To, other.To)})
		}
		if hold.To > holds[last].To {
			last = i
		}
	}
	return found
}
