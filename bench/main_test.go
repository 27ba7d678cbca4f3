package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast.dev/bench/internal/contender"
	"holdfast.dev/bench/internal/result"
	"holdfast.dev/bench/internal/scenario"
	"holdfast.dev/locktest/servers"
)

// program runs it, and returns its code and what it printed.
func program(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e strings.Builder
	code = run(t.Context(), args, &o, &e)
	return code, o.String(), e.String()
}

// TestEverything lets every contender run every scenario for a moment: what counts here is that all of it works, not how fast. It is
// written to a file, and printed from there.
func TestEverything(t *testing.T) {
	server, err := servers.StartRedis(t.Context())
	servers.Need(t, err)
	defer server.Close()
	var scenarios []scenario.Scenario
	names := []string{"scale"}
	for _, s := range scenario.All() {
		if s.Clients <= 64 && !s.Guard { // a thousand clients of each take their time, and nothing else; TestGuard has the others
			scenarios, names = append(scenarios, s), append(names, s.Name)
		}
	}
	code, out, errs := program(t, "--addr", server.Addr(), "--runs", "1", "--for", "20ms", "--warm", "10ms",
		"--locks", "200", "--waiters", "100", "--watch", "50ms", "--json", "--scenarios", strings.Join(names, ","))
	if code != 0 {
		t.Fatalf("code %d:\n%s", code, errs)
	}
	var d result.Document
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	for _, s := range scenarios {
		for _, c := range contender.All(0, time.Second) {
			in := d.Scenario(s.Name)
			if c.Role == contender.Guarded {
				if in != nil && in.Contender(c.Name) != nil {
					t.Errorf("%s was measured in %s, which is not about the guard", c.Name, s.Name)
				}
				continue
			}
			if (c.Role == contender.Limit || c.Role == contender.Reference) && s.Contended() {
				if in != nil && in.Contender(c.Name) != nil {
					t.Errorf("%s, which cannot wait, was measured in %s", c.Name, s.Name)
				}
				continue
			}
			if in == nil || in.Contender(c.Name) == nil || len(in.Contender(c.Name).Runs) != 1 {
				t.Errorf("%s in %s was not measured", c.Name, s.Name)
			} else if !s.Contended() && in.Contender(c.Name).Runs[0].Holds == 0 {
				holds(t, server.Addr(), c.Name, s.Name)
			}
		}
	}
	if d.Scale == nil || d.Scale.Locks != 200 || d.Scale.Waiters != 100 || d.Scale.LocksASecond <= 0 || d.Scale.WatchedSeconds < 0.05 {
		t.Errorf("scale: %+v", d.Scale)
	}
	if d.Server.Version == "" || d.Server.Own || len(d.Bars) == 0 {
		t.Errorf("server %+v, %d bars", d.Server, len(d.Bars))
	}
	printed(t, out)
}

// TestGuard measures with the guard and without, in turn, on a server alone and on one with a replica. The guard leaves room for a TTL that
// outlasts a busy machine's pauses: without that a hold could end while it is measured.
func TestGuard(t *testing.T) {
	server, err := servers.StartRedis(t.Context()) // only to see whether it could
	servers.Need(t, err)
	server.Close()
	began := time.Now()
	const guard = 8 * time.Second
	code, out, errs := program(t, "--guard", guard.String(), "--runs", "2", "--for", "20ms", "--warm", "10ms", "--json",
		"--scenarios", strings.Join(scenario.Guards(), ","))
	var d result.Document
	if err := json.Unmarshal([]byte(out), &d); code != 0 || err != nil {
		t.Fatalf("code %d, %v:\n%s", code, err, errs)
	}
	if took := time.Since(began); took < guard {
		t.Errorf("all was measured in %v: the guard of %v was not on", took, guard)
	}
	for _, name := range scenario.Guards() {
		in := d.Scenario(name)
		if in == nil || len(in.Contenders) != 2 {
			t.Errorf("%s: %+v", name, in)
			continue
		}
		for i, contender := range []string{"holdfast", "holdfast-guard"} {
			if c := in.Contenders[i]; c.Name != contender || len(c.Runs) != 2 || c.Runs[0].Place == c.Runs[1].Place {
				t.Errorf("%s: %+v, want two runs of %s, in turn", name, c, contender)
			}
		}
	}
	for _, v := range d.Bars {
		if v.Measured && !strings.HasPrefix(v.Bar, "guard-") {
			t.Errorf("nothing of it was to be measured: %+v", v)
		}
	}
}

// holds looks for longer and longer whether a contender works in a scenario: on a busy machine it may hold nothing in a moment.
func holds(t *testing.T, addr, contender, scenario string) {
	t.Helper()
	problem := ""
	for window := 100 * time.Millisecond; window < time.Minute; window *= 4 {
		var d result.Document
		code, out, errs := program(t, "--addr", addr, "--runs", "1", "--for", window.String(), "--json",
			"--scenarios", scenario, "--contenders", contender)
		if err := json.Unmarshal([]byte(out), &d); code != 0 || err != nil {
			t.Fatalf("code %d, %v:\n%s", code, err, errs)
		}
		run := d.Scenario(scenario).Contender(contender).Runs[0]
		if run.Holds > 0 {
			return
		}
		problem = run.Problem
	}
	t.Errorf("%s never held in %s: %s", contender, scenario, problem)
}

// printed prints a document from a file, in the other ways.
func printed(t *testing.T, document string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "figures.json")
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"--markdown", "--json=false"} {
		code, out, errs := program(t, "--from", file, flag)
		if code != 0 || !strings.Contains(out, "crowd-1024-1ms") || !strings.Contains(out, "rueidislock-best") {
			t.Errorf("%s: code %d, %s\n%s", flag, code, errs, out)
		}
	}
}

// TestStrict: what was not measured is not met.
func TestStrict(t *testing.T) {
	file := filepath.Join(t.TempDir(), "figures.json")
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, _ := program(t, "--from", file); code != 0 {
		t.Errorf("code %d without --strict", code)
	}
	if code, out, _ := program(t, "--from", file, "--strict"); code != missed || !strings.Contains(out, "not measured") {
		t.Errorf("code %d with --strict:\n%s", code, out)
	}
}

// TestOwnServer starts one, for a choice of scenarios and contenders, and leaves the bars that these cannot meet unmeasured.
func TestOwnServer(t *testing.T) {
	server, err := servers.StartRedis(t.Context()) // only to see whether it could
	servers.Need(t, err)
	server.Close()
	code, out, errs := program(t, "--scenarios", "solo", "--contenders", "limit,holdfast", "--runs", "2", "--for", "10ms", "--warm", "5ms")
	if code != 0 || !strings.Contains(out, "a server of its own") || !strings.Contains(errs, "2/2 solo limit:") {
		t.Errorf("code %d, %s\n%s", code, errs, out)
	}
	if strings.Contains(out, "redsync") || strings.Contains(out, "apart: 64") || !strings.Contains(out, "not measured  apart") {
		t.Errorf("it did not keep to the choice:\n%s", out)
	}
	// The order turns: in the second repetition the second contender comes first.
	if strings.Index(errs, "1/2 solo limit") > strings.Index(errs, "1/2 solo holdfast") || strings.Index(errs, "2/2 solo limit") < strings.Index(errs, "2/2 solo holdfast") {
		t.Errorf("the order does not turn:\n%s", errs)
	}
}

func TestCommandLine(t *testing.T) {
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"--help", 0, "Usage: go run ./bench"},
		{"--scenarios nowhere", usage, `no scenario is named "nowhere"; there are solo, apart, crowd-8`},
		{"--contenders nobody", usage, `no contender is named "nobody"; there are limit, limit-best, holdfast`},
		{"--runs 0", usage, "must be above 0"},
		{"--for 0s", usage, "must be above 0"},
		{"--guard 0s", usage, "--guard must be above 0"},
		{"--locks 0", usage, "must be above 0"},
		{"--json --markdown", usage, "choose one"},
		{"solo", usage, `"solo" is no flag`},
		{"--nonsense", usage, "not defined: -nonsense"},
		{"--from missing.json", failed, "missing.json"},
		{"--addr 127.0.0.1:1", failed, "127.0.0.1:1"},
	} {
		code, _, errs := program(t, strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(errs, tt.want) {
			t.Errorf("%s: code %d, want %d, and in it %q:\n%s", tt.args, code, tt.code, tt.want, errs)
		}
	}
	code, out, _ := program(t, "--list", "--retry", "7ms")
	for _, want := range []string{"solo ", "crowd-1024-1ms ", "scale ", "guard-crowd-replica ", "the guard of 30s is on", "rueidislock-best ", "tries again after 7ms"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("--list: code %d, no %q in:\n%s", code, want, out)
		}
	}
}
