package waiting

import (
	"testing"
	"time"

	"holdfast.dev"
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
		{holdfast.Progress{Place: 1}, `: next in the queue`},
		{holdfast.Progress{Holders: []holdfast.Holder{holder}}, `: held by h:1 job for 1m02s (since 11:58:58)`},
		{holdfast.Progress{Holders: []holdfast.Holder{holder, kept, kept}, Place: 4},
			`: held by h:1 job for 1m02s (since 11:58:58) and 2 more; place 4 in the queue`},
		{holdfast.Progress{Holders: []holdfast.Holder{broken}}, `: held by h:1 job for 1m02s (since 11:58:58), told to end`},
		{holdfast.Progress{Holders: []holdfast.Holder{kept}}, `: nobody holds it, but it is kept by a minimum hold for another 6.0s`},
		{holdfast.Progress{Holders: []holdfast.Holder{nameless}}, `: held by someone without a label for 1m02s (since 11:58:58)`},
		{holdfast.Progress{Holders: []holdfast.Holder{odd}}, `: held by "h:1 \x1b[2J" for 1m02s (since 11:58:58)`},
		{holdfast.Progress{Holders: []holdfast.Holder{old}}, `: held by h:1 job for 2d00h (since Nov 13 11:59)`},
		{holdfast.Progress{Guard: 12 * time.Second}, `: the store restarted and grants nothing for another 10s`},
		{holdfast.Progress{Guard: time.Second}, ``}, // it is over
	} {
		w := &wait{key: key{name: "x\u202e"}, since: now.Add(-90 * time.Second), seen: now.Add(-2 * time.Second), Progress: c.progress}
		if got, want := w.describe(now), `waiting for "x\u202e" for 1m30s`+c.want; got != want {
			t.Errorf("described as %s, want %s", got, want)
		}
	}
	if columns(0) != 79 || columns(1) != 79 || columns(100) != 99 {
		t.Error("columns: one less than the terminal has; 79 if that is not known")
	}
}
