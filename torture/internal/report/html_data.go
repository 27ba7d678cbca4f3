package report

import (
	"slices"
	"strconv"
	"time"
)

// A pageRound is a round as the page's script reads it: short, because there are thousands of holds. Times are in microseconds from the
// beginning of the round.
type pageRound struct {
	Lasted     int64    `json:"lasted"`
	Locks      []string `json:"locks"`
	Reasons    []string `json:"reasons"`    // of losses; a hold has an index
	Holds      [][]any  `json:"holds"`      // lock, from, to, token, worker, process, told (−1: no loss), reason, overlap (1: yes)
	Overlaps   [][]any  `json:"overlaps"`   // lock, from, to
	Faults     [][]any  `json:"faults"`     // name, from, to, process, open
	Stops      [][]any  `json:"stops"`      // process, from, to
	Deaths     [][]any  `json:"deaths"`     // process, at
	Violations [][]any  `json:"violations"` // at, lock (−1: none), checker, what
}

// pageOf shortens a round. Nothing in it is nil: the script takes lists for lists.
func pageOf(r RoundTimeline) pageRound {
	none := func() [][]any { return [][]any{} }
	p := pageRound{
		Lasted: r.Lasted.Microseconds(), Locks: append([]string{}, r.Locks...), Reasons: []string{""},
		Holds: none(), Overlaps: none(), Faults: none(), Stops: none(), Deaths: none(), Violations: none(),
	}
	for _, h := range r.Holds {
		told := int64(-1)
		if h.Lost {
			told = h.Told.Microseconds()
		}
		// The token is a string: a number would be rounded.
		p.Holds = append(p.Holds, []any{h.Lock, us(h.From), us(h.To), strconv.FormatUint(h.Token, 10), h.Worker, h.Process, told, p.reason(h.Reason), bit(h.Overlap)})
	}
	for _, o := range r.Overlaps {
		p.Overlaps = append(p.Overlaps, []any{o.Lock, us(o.From), us(o.To)})
	}
	for _, f := range r.Faults {
		p.Faults = append(p.Faults, []any{f.Name, us(f.From), us(f.To), f.Process, bit(f.Open)})
	}
	for _, s := range r.Stops {
		p.Stops = append(p.Stops, []any{s.Process, us(s.From), us(s.To)})
	}
	for _, d := range r.Deaths {
		p.Deaths = append(p.Deaths, []any{d.Process, us(d.At)})
	}
	for _, v := range r.Violations {
		p.Violations = append(p.Violations, []any{us(v.At), v.Lock, v.Checker, v.What})
	}
	return p
}

func us(d time.Duration) int64 { return d.Microseconds() }

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// reason is the index of a reason, which is added if it is new.
func (p *pageRound) reason(text string) int {
	if i := slices.Index(p.Reasons, text); i >= 0 {
		return i
	}
	p.Reasons = append(p.Reasons, text)
	return len(p.Reasons) - 1
}
