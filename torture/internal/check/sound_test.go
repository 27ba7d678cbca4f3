package check

import (
	"errors"
	"strings"
	"testing"

	"holdfast.dev/torture/internal/history"
)

// Records that contradict each other are no history, and no violation either.
func TestNoHistory(t *testing.T) {
	const hold = "10 a1 asks hot p1; 12 a1 granted 1 900; 20 a1 releases; 21 a1 released ok;"
	for name, c := range map[string]struct{ script, want string }{
		"an attempt asked for twice":          {hold + "22 a1 asks hot p1", "asked for twice"},
		"an attempt answered twice":           {hold + "22 a1 failed", "answered twice"},
		"a release of what was refused":       {"10 a1 asks hot p1; 12 a1 held; 20 a1 releases", "not granted"},
		"a read that was not asked for":       {hold + "15 a1 read 0", "not made"},
		"a write that was not asked for":      {hold + "15 a1 writes 1; 16 a1 wrote ok fenced", "not made"},
		"a write while another goes on":       {hold + "15 a1 writes 1; 16 a1 writes 2", "goes on"},
		"a release that was not asked for":    {"10 a1 asks hot p1; 12 a1 granted 1 900; 21 a1 released ok", "not made"},
		"a release while another goes on":     {"10 a1 asks hot p1; 12 a1 granted 1 900; 20 a1 releases; 21 a1 releases", "goes on"},
		"a write that says nothing":           {hold + "15 a1 writes 1; 16 a1 wrote nothing", "says nothing"},
		"an answer before it was asked for":   {"10 a1 asks hot p1; 9 a1 granted 1 900", "nobody asked"},
		"a look before it was asked for":      {"10 a1 asks hot p1; 9 a1 looks 900", "nobody asked"},
		"a place in the queue without asking": {"10 a1 asks hot p1; 9 a1 queued", "nobody asked"},
		"no way to ask":                       {"10 a1 asks hot p1 nicely", "no such way"},
	} {
		f, err := Round(parse(t, c.script))
		if err == nil || !strings.Contains(err.Error(), c.want) || f != nil {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}

func TestNoHistoryAtAll(t *testing.T) {
	if _, err := Round(&history.History{Meta: history.Meta{TTL: 1}}); !errors.Is(err, history.ErrEmpty) {
		t.Errorf("nothing: %v", err)
	}
	if _, err := Round(parse(t, "10 inspect hot", func(m *history.Meta) { m.TTL = 0 })); err == nil {
		t.Error("without a TTL it guesses")
	}
	h := parse(t, "10 a1 asks hot p1; 12 a1 granted 1 900; 20 a1 releases; 21 a1 released ok")
	for name, change := range map[string]func(r *history.Record){
		"another process":      func(r *history.Record) { r.Process++ },
		"another worker":       func(r *history.Record) { r.Worker++ },
		"another lock":         func(r *history.Record) { r.Lock++ },
		"another attempt":      func(r *history.Record) { r.Attempt++ },
		"an answer of nothing": func(r *history.Record) { r.Outcome = history.None },
	} {
		bad := &history.History{Meta: h.Meta}
		for _, r := range h.Records {
			if r.Phase == history.Done && r.Op == history.Acquire {
				change(&r)
			}
			bad.Records = append(bad.Records, r)
		}
		if _, err := Round(bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// What an observer of a client records does not know which worker it is about.
func TestObserved(t *testing.T) {
	h := parse(t, "10 a1 asks hot p1; 11 a1 queued; 12 a1 granted 1 900; 20 a1 releases; 21 a1 released ok")
	for i := range h.Records {
		if h.Records[i].Phase == history.Queued {
			h.Records[i].Worker = 0
		}
	}
	if f, err := Round(h); err != nil || len(f.Violations) > 0 {
		t.Errorf("%v, %v", f, err)
	}
}
