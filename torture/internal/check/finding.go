package check

import (
	"cmp"
	"slices"
	"time"

	"holdfast.dev/torture/internal/history"
)

// A Finding is what a history shows.
type Finding struct {
	Violations []Violation // by time
	Measured   []Violation // what is no violation in a round of this class, and is counted instead; by time
	Overlaps   Overlaps
	Rows       []Row // one for each fault that happened, and one for what was before the first
}

// Overlaps is how often and how long two held a lock at the same time, whatever the class.
type Overlaps struct {
	Count        int
	Longest, Sum time.Duration
}

// A checker is a rule. counts reports whether what it finds is a violation in a round, or is measured only.
type checker struct {
	find   func(*round) []Violation
	counts func(*history.Meta) bool
}

var checkers = []checker{
	{windows, within},
	{tokens, fencedWhere},
	{fencedLoss, fencing},
	{unfencedLoss, never},
	{rig, always},
	{order, within},
	{liveness, always},
	{leaks, always},
	{leaders, within},
	{terms, fencedWhere},
	{told, always},
}

func always(*history.Meta) bool   { return true }
func never(*history.Meta) bool    { return false }
func within(m *history.Meta) bool { return m.Class != "beyond" }

// fencedWhere: beyond a store's assumptions tokens rise if they are durable, and volatile ones if nothing made the store forget them.
func fencedWhere(m *history.Meta) bool {
	forgets := slices.ContainsFunc(m.Faults, func(f history.FaultMeta) bool { return f.Forgets })
	return within(m) || m.Fencing == "durable" || m.Fencing == "volatile" && !forgets
}

// fencing: without tokens there is no fence.
func fencing(m *history.Meta) bool { return m.Fencing != "none" && fencedWhere(m) }

// Round checks a history. An error means that it is none: the recorder does not work, and nothing is proved.
func Round(h *history.History) (*Finding, error) {
	r, err := prepare(h)
	if err != nil {
		return nil, err
	}
	r.overlaps, r.lost, r.heals, r.tellings = r.findOverlaps(), r.findLost(), r.findHeals(), r.findTellings()
	f := new(Finding)
	for _, c := range checkers {
		if found := c.find(r); c.counts(&h.Meta) {
			f.Violations = append(f.Violations, found...)
		} else {
			f.Measured = append(f.Measured, found...)
		}
	}
	byTime := func(a, b Violation) int { return cmp.Compare(a.At, b.At) }
	slices.SortStableFunc(f.Violations, byTime)
	slices.SortStableFunc(f.Measured, byTime)
	for _, o := range r.overlaps {
		f.Overlaps.Count++
		f.Overlaps.Longest = max(f.Overlaps.Longest, o.length())
		f.Overlaps.Sum += o.length()
	}
	f.Rows = r.figures(f.Violations)
	return f, nil
}
