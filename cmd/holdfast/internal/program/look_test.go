package program_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/cmd/holdfast/internal/say"
)

// me is how this process's holds are labelled, without the host.
var me = regexp.MustCompile(`\S+:\d+`)

// steady puts fixed texts in the place of what differs from run to run.
func steady(text string) string {
	text = me.ReplaceAllString(text, "HOST:PID")
	text = regexp.MustCompile(`\b\d+(\.\d)?s\b|\b\d+m\d\ds\b`).ReplaceAllString(text, "TIME")
	return regexp.MustCompile(` +`).ReplaceAllString(text, " ")
}

func TestLs(t *testing.T) {
	w := newWorld(t)
	w.expect(result{stderr: "holdfast: nobody holds or waits for a lock\n"}, "ls")
	w.expect(result{}, "ls", "-q")
	w.expect(result{stderr: "holdfast: nobody holds or waits for a lock whose name begins with \"a\\u202e\"\n"}, "ls", "a\u202e")
	w.expect(result{stdout: "[]\n"}, "ls", "--json")

	locks := w.locks(holdfast.Label("job"))
	b := w.hold(locks.Mutex("b"))
	w.queue(locks, locks.Mutex("b"), "b", 1)
	w.queue(locks, locks.Mutex("b"), "b", 2)
	shared := w.hold(locks.RWMutex("a").Reader())
	w.hold(locks.RWMutex("a").Reader())
	permits := w.hold(locks.Semaphore("b", 5).Permits(2))
	kept := locks.Mutex("kept", holdfast.MinHold(time.Hour))
	keptHold := w.hold(kept)
	keptHold.Unlock()
	broken := w.hold(locks.Mutex("broken"))
	if err := w.locks().Break(t.Context(), "broken", broken.Token()); err != nil {
		t.Fatal(err)
	}

	got := w.run("ls")
	want := fmt.Sprintf(`NAME HOW HOLDER TOKEN HELD FOR LEFT WAITING
a shared HOST:PID job %d TIME — 0
a shared HOST:PID job %[1]d TIME — 0
b exclusive HOST:PID job %d TIME — 2
b 2 of 5 permits HOST:PID job %d TIME — 0
broken exclusive HOST:PID job (broken: told to end) %d TIME — 0
kept exclusive (nobody: kept by a minimum hold) %d TIME 1h00m 0
`, shared.Token(), b.Token(), permits.Token(), broken.Token(), keptHold.Token())
	if steady(got.stdout) != want || got.stderr != "" || got.code != 0 {
		t.Errorf("ls: %d, %q\n%s\nwant\n%s", got.code, got.stderr, steady(got.stdout), want)
	}
	if got := w.run("ls", "k"); len(fields(got.stdout)) != 2 {
		t.Errorf("ls k shows\n%s", got.stdout)
	}

	var listed []map[string]any
	if err := json.Unmarshal([]byte(w.run("ls", "--json").stdout), &listed); err != nil || len(listed) != 5 {
		t.Fatalf("ls --json: %v of %d", err, len(listed))
	}
	checkJSON(t, listed[1], map[string]any{
		"name": "b", "kind": "lock", "limit": nil, "guard": 0.0,
		"holders": []any{map[string]any{"label": "HOST:PID job", "mode": "exclusive", "permits": nil, "token": float64(b.Token()), "left": nil,
			"kept": false, "broken": false}},
		"waiters": []any{map[string]any{"label": "HOST:PID job", "mode": "exclusive", "permits": nil},
			map[string]any{"label": "HOST:PID job", "mode": "exclusive", "permits": nil}},
	})
	checkJSON(t, listed[2], map[string]any{
		"name": "b", "kind": "semaphore", "limit": 5.0, "guard": 0.0, "waiters": []any{},
		"holders": []any{map[string]any{"label": "HOST:PID job", "mode": "permits", "permits": 2.0, "token": float64(permits.Token()), "left": nil,
			"kept": false, "broken": false}},
	})
	last := listed[4]["holders"].([]any)[0].(map[string]any)
	if left := last["left"].(float64); last["kept"] != true || left < 3000 || left > 3600 {
		t.Errorf("kept: %v", last)
	}
}

// checkJSON compares, and takes out what differs from run to run, but only after a look at it.
func checkJSON(t *testing.T, got, want map[string]any) {
	t.Helper()
	for _, list := range []struct{ of, seconds string }{{"holders", "held"}, {"waiters", "waited"}} {
		for _, each := range got[list.of].([]any) {
			one := each.(map[string]any)
			if s, ok := one[list.seconds].(float64); !ok || s < 0 || s > generous.Seconds() {
				t.Errorf("%s: %v", list.seconds, one[list.seconds])
			}
			delete(one, list.seconds)
			one["label"] = steady(one["label"].(string))
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestInspect(t *testing.T) {
	w := newWorld(t)
	w.expect(result{stdout: "lock \"x\" is free\n"}, "inspect", "x")
	w.expect(result{stdout: "{\n  \"name\": \"x\",\n  \"lock\": null,\n  \"semaphore\": null\n}\n"}, "inspect", "--json", "x")
	locks := w.locks(holdfast.Label("job"))
	permits := w.hold(locks.Semaphore("x", 3).Permits(1))
	only := fmt.Sprintf("semaphore \"x\": 1 of 3 permits are taken, 0 waiting\n HOLDER HOW TOKEN HELD FOR LEFT\n HOST:PID job 1 of 3 permits %d TIME —\n",
		permits.Token())
	if got := w.run("inspect", "x"); steady(got.stdout) != only || got.code != 0 {
		t.Errorf("the semaphore alone:\n%s\nwant\n%s", steady(got.stdout), only)
	}
	hold := w.hold(locks.Mutex("x"))
	w.queue(locks, locks.RWMutex("x", holdfast.Label("second")).Reader(), "x", 1)
	w.queue(locks, locks.Mutex("x", holdfast.Label("third")), "x", 2)
	lock := fmt.Sprintf(`lock "x" is held, 2 waiting
 HOLDER HOW TOKEN HELD FOR LEFT
 HOST:PID job exclusive %d TIME —
 WAITER WANTS FOR PLACE
 HOST:PID second shared TIME 1
 HOST:PID third exclusive TIME 2
`, hold.Token())
	if got := w.run("inspect", "x"); steady(got.stdout) != lock+only || got.code != 0 {
		t.Errorf("both:\n%s\nwant\n%s", steady(got.stdout), lock+only)
	}
	var object struct {
		Name            string
		Lock, Semaphore map[string]any
	}
	if err := json.Unmarshal([]byte(w.run("inspect", "x", "--json").stdout), &object); err != nil {
		t.Fatal(err)
	}
	if object.Name != "x" || object.Lock["kind"] != "lock" || len(object.Lock["waiters"].([]any)) != 2 || object.Semaphore["limit"] != 3.0 {
		t.Errorf("--json: %v", object)
	}
}

// Names come from strangers: whatever is in them, a terminal obeys none of it, and two names never look alike.
func TestNamesAreHarmless(t *testing.T) {
	w := newWorld(t)
	locks := w.locks(holdfast.Label("l\u202eabel"))
	names := []string{"plain", "a b", "turned\u202e", `turned\u202e`, `"turned\u202e"`, "zero\u200bwidth", "zerowidth", "filler\u3164", "trailing ", `back\slash`}
	for _, name := range names {
		w.hold(locks.Mutex(name))
	}
	got := w.run("ls")
	if say.Harmless(got.stdout) != got.stdout {
		t.Errorf("not harmless: %q", got.stdout)
	}
	var shown []string
	for _, row := range fields(got.stdout)[1:] {
		shown = append(shown, row[0])
		if !strings.HasSuffix(row[2], `l\u202eabel"`) {
			t.Errorf("the label is shown as %s", row[2])
		}
	}
	for _, name := range names {
		if !slices.Contains(shown, say.Name(name)) {
			t.Errorf("%q is not shown: %q", name, shown)
		}
	}
	slices.Sort(shown)
	if len(slices.Compact(shown)) != len(names) {
		t.Errorf("two names look alike: %q", shown)
	}
	got = w.run("ls", "--json")
	var listed []struct{ Name string }
	if err := json.Unmarshal([]byte(got.stdout), &listed); err != nil || say.Harmless(got.stdout) != got.stdout {
		t.Errorf("--json: %v, %q", err, got.stdout)
	}
	for _, each := range listed {
		if !slices.Contains(names, each.Name) {
			t.Errorf("--json has a name %q", each.Name)
		}
	}
	for _, args := range [][]string{{"inspect", "turned\u202e"}, {"inspect", "turned\u202e", "--json"}, {"run", "-n", "turned\u202e", "--", "true"},
		{"break", "turned\u202e", "--token", "99999"}, {"break", "turned\u202e"}} {
		if got := w.run(args...); say.Harmless(got.stdout+got.stderr) != got.stdout+got.stderr || !strings.Contains(got.stdout+got.stderr, `turned\u202e`) {
			t.Errorf("%q prints %q, %q", args, got.stdout, got.stderr)
		}
	}
}
