package torture_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture"
	"holdfast.dev/torture/internal/bundle"
	"holdfast.dev/torture/internal/history"
)

// byHand makes a bundle with one round of these records, a millisecond apart, between those that every round has.
func byHand(t *testing.T, records ...history.Record) (dir string) {
	t.Helper()
	records = slices.Concat([]history.Record{{Op: history.Round, Phase: history.Began}}, records)
	for _, phase := range []history.Phase{history.Draining, history.Drained, history.Ended} {
		records = append(records, history.Record{Op: history.Round, Phase: phase})
	}
	for i := range records {
		records[i].At = driver.Instant(i+1) * driver.Instant(time.Millisecond)
	}
	meta, err := json.Marshal(history.Meta{Number: 1, Seed: 5, Store: "toy", Class: "within", TTL: time.Second, Fencing: "durable",
		Locks: []history.LockMeta{{Name: "hot"}, {Name: "cold"}}})
	if err != nil {
		t.Fatal(err)
	}
	files := t.TempDir()
	for name, data := range map[string][]byte{"meta.json": meta, "controller.hist": history.Encode(records)} {
		if err := os.WriteFile(filepath.Join(files, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir = filepath.Join(t.TempDir(), "bundle")
	b, err := bundle.Make(dir, bundle.Run{Command: "by hand", Seed: 5})
	if err == nil {
		err = b.Add(1, files)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// A try that is refused though nobody holds the lock, which must not be; and one that is granted, and a look at another lock, which may.
var (
	granted = history.Record{Op: history.Acquire, Phase: history.Done, Attempt: 1, Outcome: history.Granted, Token: 1, Value: int64(time.Second)}
	leaves  = history.Record{Op: history.Release, Phase: history.Asked, Attempt: 1, Token: 1}
	left    = history.Record{Op: history.Release, Phase: history.Done, Attempt: 1, Token: 1, Outcome: history.OK}
	asks    = history.Record{Op: history.Acquire, Phase: history.Asked, Attempt: 1, Value: int64(history.ByTry)}
	refused = history.Record{Op: history.Acquire, Phase: history.Done, Attempt: 1, Outcome: history.Held}
	looks   = history.Record{Op: history.Inspect, Phase: history.Asked, Lock: 1}
	looked  = history.Record{Op: history.Inspect, Phase: history.Done, Outcome: history.OK, Lock: 1}
)

// A violation in a bundle is found, kept, and shown wherever there is something to see. What is judged again, by other rules, has
// no page of the old ones.
func TestViolations(t *testing.T) {
	t.Parallel()
	dir, good := byHand(t, asks, refused), byHand(t, asks, granted, leaves, left, looks, looked)
	page := filepath.Join(good, "round-000001.html")
	if err := os.WriteFile(page, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := torture.Check([]string{good}, nil)
	if err != nil || !r.Passed() || read(t, r).operations() != 2 {
		t.Errorf("the good one: %v, %s", err, text(t, r))
	}
	if _, err := os.Stat(page); err == nil {
		t.Error("there is still a page about what is good now")
	}
	for range 2 { // the second one reads what the first one has found
		r, err := torture.Report([]string{good, dir, good})
		if err != nil {
			t.Fatal(err)
		}
		d := read(t, r)
		if r.Passed() || d.Rounds != 2 || d.operations() != 3 || len(d.Violations) != 1 || d.Violations[0].Checker != "linear" || d.Violations[0].Bundle != dir {
			t.Errorf("%+v", d)
		}
		if shown := text(t, r); !strings.Contains(shown, "FAILED: 1 violation found") || !strings.Contains(shown, "check it again: holdfast torture check "+dir) {
			t.Errorf("%s", shown)
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, "round-000001.html")); !strings.Contains(string(data), "<html") || err != nil {
		t.Errorf("its page: %d bytes, %v", len(data), err)
	}
}

// What is no bundle, or a damaged one, is said to be so.
func TestBadBundles(t *testing.T) {
	t.Parallel()
	dir := byHand(t, looks)
	if _, err := torture.Check([]string{dir}, nil); err != nil {
		t.Fatal(err)
	}
	verdict := filepath.Join(dir, "round-000001.json")
	if err := os.WriteFile(verdict, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, foreign := range []string{"{", "{}", `{"format": 1, "rows": [], "violations": []}`, `{"format": 3, "sum": "other"}`} {
		if err := os.WriteFile(verdict, []byte(foreign), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := torture.Report([]string{dir}); err != nil {
			t.Errorf("the verdict %q: %v", foreign, err)
		}
		made, err := os.ReadFile(verdict)
		if err != nil || string(made) == foreign || !strings.Contains(string(made), `"rows"`) {
			t.Errorf("the verdict %q was believed: %.100s, %v", foreign, made, err)
		}
	}
	round := filepath.Join(dir, "round-000001.tgz")
	if err := os.Truncate(round, 100); err != nil {
		t.Fatal(err)
	}
	if r, err := torture.Check([]string{dir}, nil); err != nil || r.Violations() != 1 || !strings.Contains(strings.Join(strings.Fields(text(t, r)), " "), "it is damaged") {
		t.Errorf("a damaged round: %v, %s", err, text(t, r))
	}
	empty := t.TempDir()
	for _, report := range []func() (*torture.Result, error){
		func() (*torture.Result, error) { return torture.Check([]string{dir, empty}, nil) },
		func() (*torture.Result, error) { return torture.Report([]string{empty}) },
		func() (*torture.Result, error) { return torture.Report([]string{filepath.Join(empty, "nowhere")}) },
	} {
		if r, err := report(); r != nil || err == nil {
			t.Errorf("%v, %v", r, err)
		}
	}
	if _, err := torture.Report([]string{empty}); !errors.Is(err, torture.ErrOption) || !strings.Contains(err.Error(), "no bundle of torture") {
		t.Errorf("no bundle: %v", err)
	}
	if r, err := torture.Check(nil, nil); err != nil || r.Passed() {
		t.Errorf("nothing at all passed: %v", err)
	}
}

// Show prints a line for each record, of one lock or of all, and says what there is if there is nothing.
func TestShow(t *testing.T) {
	t.Parallel()
	dir := byHand(t, asks, refused, looks)
	for lock, want := range map[string]int{"": 7, "hot": 6, "cold": 5} {
		var b strings.Builder
		if err := torture.Show(&b, dir, 1, lock); err != nil || strings.Count(b.String(), "\n") != want {
			t.Errorf("%q: %v\n%s", lock, err, b.String())
		}
	}
	for _, c := range []struct {
		dir   string
		round int
		lock  string
		want  string
	}{
		{dir, 2, "", "there is no such round; it has round 1"},
		{dir, -1, "", "there is no such round; it has round 1"},
		{dir, 1, "warm", `round 1 has no lock "warm"; there are hot, cold`},
		{t.TempDir(), 1, "", "no bundle of torture"},
	} {
		var b strings.Builder
		if err := torture.Show(&b, c.dir, c.round, c.lock); !errors.Is(err, torture.ErrOption) || !strings.Contains(err.Error(), c.want) || b.Len() > 0 {
			t.Errorf("%d %q: %v; want %q", c.round, c.lock, err, c.want)
		}
	}
}

// A result that was written as JSON counts in a report like a bundle, and what is none of both is refused.
func TestReportOfJSON(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	control, name := filepath.Join(dir, "controls.json"), filepath.Join(dir, "noise")
	text := `{"format": 1, "title": "controls", "command": ["holdfast torture controls"], "controls": [{"name": "N1", "title": "DEL without compare", "seeds": 3, "caught": 3, "by": ["windows"], "twinPassed": 3}]}`
	for file, contents := range map[string]string{control: text, name: "{"} {
		if err := os.WriteFile(file, []byte(contents), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	result, err := torture.Report([]string{control})
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	if err := result.Markdown(&page); err != nil || !strings.Contains(page.String(), "DEL without compare") || !result.Passed() {
		t.Errorf("%v, passed %v:\n%s", err, result.Passed(), page.String())
	}
	if _, err := torture.Report([]string{name}); !errors.Is(err, torture.ErrOption) || !strings.Contains(err.Error(), "noise") {
		t.Errorf("noise: %v", err)
	}
}

// A result that was written as JSON counts as a bundle does, but not together with its own.
func TestReportCountsOnce(t *testing.T) {
	t.Parallel()
	one, two := byHand(t, looks), byHand(t, looks, looked)
	file := filepath.Join(t.TempDir(), "result.json")
	r, err := torture.Check([]string{one}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := errors.Join(r.JSON(&b), os.WriteFile(file, []byte(b.String()), 0o600)); err != nil {
		t.Fatal(err)
	}
	if r, err := torture.Report([]string{file, two, file}); err != nil || read(t, r).Rounds != 2 || read(t, r).operations() != 2 {
		t.Errorf("%v, %+v", err, r)
	}
	if r, err := torture.Report([]string{file, one}); r != nil || !errors.Is(err, torture.ErrOption) || !strings.Contains(err.Error(), "the same rounds") {
		t.Errorf("what is counted twice: %v, %v", r, err)
	}
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := torture.Report([]string{file}); r != nil || !errors.Is(err, torture.ErrOption) || !strings.Contains(err.Error(), file) {
		t.Errorf("no result: %v, %v", r, err)
	}
}
