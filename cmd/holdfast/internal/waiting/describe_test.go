package waiting

import (
	"strings"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/cmd/holdfast/internal/say"
)

func TestDescribe(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.Local)
	holder := holdfast.Holder{Label: "h:1 job", Held: time.Minute, Left: 8 * time.Second}
	broken, kept, nameless, odd, old := holder, holder, holder, holder, holder
	broken.Broken, kept.Kept, nameless.Label, odd.Label, old.Held = true, true, "", "h:1 \x1b[2J", 48*time.Hour
	for _, c := range []struct {
		progress holdfast.Progress
		want     string
	}{
		{holdfast.Progress{}, ``},
		{holdfast.Progress{Place: 1}, `place 1, `},
		{holdfast.Progress{Holders: []holdfast.Holder{holder}}, `held since 11:58:58 by h:1 job, `},
		{holdfast.Progress{Holders: []holdfast.Holder{holder, kept, kept}, Place: 4}, `place 4, held since 11:58:58 by h:1 job and 2 more, `},
		{holdfast.Progress{Holders: []holdfast.Holder{broken}}, `held since 11:58:58 by h:1 job (told to end), `},
		{holdfast.Progress{Holders: []holdfast.Holder{kept}}, `kept by a minimum hold for another 6.0s, `},
		{holdfast.Progress{Holders: []holdfast.Holder{nameless}}, `held since 11:58:58 by someone without a label, `},
		{holdfast.Progress{Holders: []holdfast.Holder{odd}}, `held since 11:58:58 by "h:1 \x1b[2J", `},
		{holdfast.Progress{Holders: []holdfast.Holder{old}}, `held since Nov 13 11:59 by h:1 job, `},
		{holdfast.Progress{Guard: 12 * time.Second}, `nothing is granted for another 10s (guard=), `},
		{holdfast.Progress{Guard: time.Second}, ``}, // it is over
	} {
		w := &wait{key: key{name: "x\u202e"}, since: now.Add(-90 * time.Second), seen: now.Add(-2 * time.Second), Progress: c.progress}
		if got, want := w.describe(now), `"x\u202e": `+c.want+`waiting for 1m30s`; got != want {
			t.Errorf("described as %s, want %s", got, want)
		}
	}
}

// Who, since when and the place are to be seen on a terminal of 80 columns, with names and labels as they usually are.
func TestWhatMattersFits(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.Local)
	for _, c := range []struct{ name, label string }{
		{"deploy", "web-1:4711 backup.sh"}, {"nightly-report", "vm:31325 report"}, {"orders/42", "ip-10-0-0-1:4711 cat"},
	} {
		w := &wait{key: key{name: c.name}, since: now.Add(-time.Hour), seen: now, Progress: holdfast.Progress{
			Place: 3, Holders: []holdfast.Holder{{Label: c.label, Held: time.Minute}}}}
		line := say.Cut("holdfast: "+w.describe(now), columns(80))
		for _, want := range []string{c.name, "place 3", "11:59:00", c.label} {
			if !strings.Contains(line, want) {
				t.Errorf("%s is not to be seen: %s", want, line)
			}
		}
	}
}

// Behind the status line there is room for the ^C that a terminal shows.
func TestColumns(t *testing.T) {
	for width, want := range map[int]int{0: 77, 1: 77, 3: 77, 4: 1, 80: 77, 100: 97} {
		if got := columns(width); got != want {
			t.Errorf("of %d columns %d are used, want %d", width, got, want)
		}
	}
}
