package generate_test

import (
	"testing"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/generate"
	"holdfast.dev/torture/internal/history"
)

// ugly counts what must be in good histories, because it is in real ones.
type ugly map[string]int

func (u ugly) add(h *history.History, all []*history.Attempt) {
	unknown := make(map[uint16][]history.Span)
	tokens := map[[2]uint64]bool{{}: true}
	stops := h.Stops()
	for _, a := range all {
		u.addAttempt(a)
		tokens[[2]uint64{uint64(a.Lock), a.Token}] = true
		for _, s := range stops[a.Process] {
			if a.Granted() && s.From > a.Answered && s.From < a.Until() {
				u["stopped inside"]++
			}
		}
		if a.Outcome == history.Failed || a.Outcome == history.None {
			span := history.Span{From: a.Asked, To: max(a.Answered, a.Died)}
			for _, o := range unknown[a.Lock] {
				if o.Overlaps(span) {
					u["two unknown at a time"]++
				}
			}
			unknown[a.Lock] = append(unknown[a.Lock], span)
		}
	}
	numbers := make(map[uint16]int64)
	for _, r := range h.Records {
		switch {
		case r.Op == history.Inspect && r.Token != 0 && !tokens[[2]uint64{uint64(r.Lock), r.Token}]:
			u["somebody seen with a lock that nobody was granted"]++
		case r.Op == history.Write && r.Phase == history.Applied && r.Flags == 0:
			if numbers[r.Lock] != r.Value-1 {
				u["unfenced loss"]++
			}
			numbers[r.Lock] = r.Value
		case r.Outcome == history.Stale:
			u["refused by the fence"]++
		}
	}
	for _, f := range h.Faults() {
		u["fault "+h.Meta.Faults[f.Index].Name]++
	}
}

var ways = map[history.Way]string{history.ByLock: "lock", history.ByTry: "try", history.ByWait: "wait", history.ByLeader: "campaign"}

var outcomes = map[history.Outcome]string{history.None: "no answer", history.Granted: "granted", history.Held: "held", history.GaveUp: "gave up",
	history.Guarded: "guarded", history.Failed: "failed", history.Lost: "lost", history.OK: "ok"}

func (u ugly) addAttempt(a *history.Attempt) {
	u[ways[a.Way]]++
	u[outcomes[a.Outcome]]++
	if a.Queued != 0 {
		u["queued"]++
	}
	if !a.Granted() {
		return
	}
	u["release "+outcomes[a.Released]]++
	first := a.Claims[0].To
	switch {
	case a.LossTold != 0:
		u["loss told"]++
	case a.Died != 0 && a.ReleaseAsked == 0:
		u["died with it"]++
	case a.Died != 0:
		u["died while releasing"]++
	}
	if first <= a.Answered {
		u["learned late"]++
	}
	for _, c := range a.Claims[1:] {
		switch {
		case c.From < a.Answered:
			u["renewed before it was granted"]++
		case a.ReleaseAsked != 0 && c.From > a.ReleaseAsked:
			u["renewed while releasing"]++
		case c.To > first+driver.Instant(2e9):
			u["held over many renewals"]++
		}
	}
}

// A history that is too good proves nothing about a checker.
func TestUgly(t *testing.T) {
	u := make(ugly)
	for seed := range uint64(4) {
		h := generate.Good(seed, generate.Options{Operations: 20_000})
		all, err := h.Attempts()
		if err != nil {
			t.Fatal(err)
		}
		u.add(h, all)
	}
	for _, what := range []string{
		"lock", "try", "wait", "campaign", "queued", "no answer", "granted", "held", "gave up", "guarded", "failed",
		"release ok", "release lost", "release failed", "release no answer", "loss told", "died with it", "died while releasing", "learned late",
		"renewed before it was granted", "renewed while releasing", "held over many renewals", "stopped inside", "two unknown at a time",
		"somebody seen with a lock that nobody was granted", "unfenced loss", "refused by the fence",
		"fault stop-worker", "fault stop-inside", "fault kill-worker", "fault server-gone", "fault restart", "fault answers-lost", "fault reset",
		"fault late", "fault delay", "fault cut-worker",
	} {
		if u[what] == 0 {
			t.Errorf("%s: %d times in %d", what, u[what], u["lock"])
		}
	}
	t.Log(u)
}

// How each kind of round differs.
func TestKinds(t *testing.T) {
	for name, o := range kinds {
		h := generate.Good(11, o)
		all, err := h.Attempts()
		if err != nil {
			t.Fatal(err)
		}
		forgot := false
		for _, f := range h.Meta.Faults {
			forgot = forgot || f.Loses
		}
		if (len(h.Faults()) == 0) != (o.Class == "none") || forgot != (o.Class == "beyond") {
			t.Errorf("%s: %d faults of %v", name, len(h.Faults()), h.Meta.Faults)
		}
		if (h.Meta.Fencing == "none") != o.Unfenced {
			t.Errorf("%s: fencing %s", name, h.Meta.Fencing)
		}
		for _, a := range all {
			if !a.Granted() {
				continue
			}
			if never := a.Claims[0].To == driver.Never; never != o.NoExpiry || (a.Token == 0) != o.Unfenced {
				t.Errorf("%s: %+v", name, a)
				break
			}
		}
		if h.When(history.Drained) == 0 || h.When(history.Ended) == 0 {
			t.Errorf("%s: it does not end", name)
		}
	}
}
