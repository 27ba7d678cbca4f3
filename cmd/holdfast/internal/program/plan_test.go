package program

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"holdfast.dev/cmd/holdfast/internal/run"
	"holdfast.dev/cmd/holdfast/internal/say"
)

// planOf reads a command line, and returns the plan it makes.
func planOf(t *testing.T, args ...string) *run.Plan {
	t.Helper()
	p := &program{args: append([]string{"run"}, args...), voice: say.New(t.Output())}
	var plan *run.Plan
	root := p.root()
	for _, c := range root.Commands() {
		if c.Name() != "run" {
			continue
		}
		f := new(runFlags)
		c.ResetFlags()
		f.define(c.Flags(), &p.quiet)
		if err := root.PersistentFlags().Parse(nil); err != nil {
			t.Fatal(err)
		}
		if err := c.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		var err error
		if plan, err = p.plan(c, f, c.Flags().Args()); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
	}
	return plan
}

func TestPlan(t *testing.T) {
	t.Setenv("SHELL", "")
	const s = time.Second
	for _, c := range []struct {
		args string
		want run.Plan
	}{
		{"x -- true", run.Plan{}},
		{"x -n -- true", run.Plan{NoWait: true}},
		{"-n x -- true", run.Plan{NoWait: true}},
		{"--nb x -- true", run.Plan{NoWait: true}},
		{"-w 0 x -- true", run.Plan{NoWait: true}},
		{"-w 0.5 x -- true", run.Plan{Wait: s / 2}},
		{"-w 1e-20 x -- true", run.Plan{Wait: 1}},
		{"-w2 x -- true", run.Plan{Wait: 2 * s}},
		{"--wait 1m30s x -- true", run.Plan{Wait: 90 * s}},
		{"x --timeout=3 -- true", run.Plan{Wait: 3 * s}},
		{"-E 0 x -- true", run.Plan{NotGot: -1}},
		{"-E 255 x -- true", run.Plan{NotGot: 255}},
		{"-s x -- true", run.Plan{Shared: true}},
		{"-x x -- true", run.Plan{}},
		{"-e x -- true", run.Plan{}},
		{"--limit 4 x -- true", run.Plan{Limit: 4}},
		{"-o -v -q x -- true", run.Plan{Leave: true, Verbose: true, Quiet: true}},
		{"--min-hold 50s x -- true", run.Plan{MinHold: 50 * s}},
		{"--label me x -- true", run.Plan{Label: "me"}},
		{"x y z -- true", run.Plan{Names: []string{"x", "y", "z"}}},
		{"x -- /bin/echo -- -n", run.Plan{Command: []string{"/bin/echo", "--", "-n"}, Label: "echo"}},
		{"x -c true", run.Plan{Command: []string{"/bin/sh", "-c", "true"}, Label: "sh"}},
		{"x -c true --", run.Plan{Command: []string{"/bin/sh", "-c", "true"}, Label: "sh"}},
		{"--ttl 4 x -- true", run.Plan{TTL: 4 * s}},
		{"--grace 6 x -- true", run.Plan{Grace: 6 * s}}, // package run makes the TTL longer
		{"--ttl 12 --grace 6 x -- true", run.Plan{TTL: 12 * s, Grace: 6 * s}},
		{"--max-hold 4 x -- true", run.Plan{MaxHold: 4 * s}},
		{"--max-hold 4 --grace 3 x -- true", run.Plan{MaxHold: 4 * s, Grace: 3 * s}},
	} {
		want := c.want // what is not said is the default
		if want.Names == nil {
			want.Names = []string{"x"}
		}
		if want.Command == nil {
			want.Command = []string{"true"}
		}
		if want.Label == "" {
			want.Label = "true"
		}
		switch want.NotGot {
		case 0:
			want.NotGot = 1
		case -1:
			want.NotGot = 0
		}
		got := planOf(t, strings.Fields(c.args)...)
		got.Voice = nil
		if !reflect.DeepEqual(got, &want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.args, *got, want)
		}
	}
	t.Setenv("SHELL", "/bin/mysh")
	if got := planOf(t, "x", "-c", "a b"); !reflect.DeepEqual(got.Command, []string{"/bin/mysh", "-c", "a b"}) {
		t.Errorf("-c runs %q", got.Command)
	}
	if got := labelOf("/bin/a\x1b"); got != "" {
		t.Errorf("a command with a control character is labelled %q", got)
	}
}

func TestNearestFlag(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "ab", 1}, {"", "ab", 2}, {"kitten", "sitting", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%s, %s) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestEcho(t *testing.T) {
	for arg, want := range map[string]string{
		"plain": "plain", "me@host": "me@host", "a:b": "a:b", "redis://u:p@h": "redis://…", "u:p@h": "…", "x:redis://u:p@h": "…",
	} {
		if got := echo(arg); got != want {
			t.Errorf("echo(%s) = %s, want %s", arg, got, want)
		}
	}
	for arg, want := range map[string]string{
		"--store=locks": "--store=…", "-store=file:///x": "-store=file://…", "--label=a": "--label=a", "--x:u:p@h?a=b": "…", "a=b": "a=b",
		"--url=redis://:p@h": "--url=redis://…",
	} {
		if got := redact(arg); got != want {
			t.Errorf("redact(%s) = %s, want %s", arg, got, want)
		}
	}
}
