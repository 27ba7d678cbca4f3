package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	server, err := servers.StartRedis(t.Context()) // only to see whether it could
	servers.Need(t, err)
	server.Close()
	var scenarios []scenario.Scenario
	var names []string
	for _, s := range scenario.Majorities() {
		if testing.Short() && s.Nodes != 3 && s.Name != "solo-of-5" {
			continue
		}
		if s.Clients <= 4 || s.Far == 0 { // 64 clients that are far away take their time, and nothing else
			scenarios, names = append(scenarios, s), append(names, s.Name)
		}
	}
	code, out, errs := program(t, "--runs", "2", "--for", "10ms", "--warm", "5ms", "--guard", "0s", "--json", "--scenarios", strings.Join(names, ","))
	var d result.Document
	if err := json.Unmarshal([]byte(out), &d); code != 0 || err != nil {
		t.Fatalf("code %d, %v:\n%s", code, err, errs)
	}
	for _, s := range scenarios {
		in := d.Scenario(s.Name)
		for _, c := range contender.Majorities(0, 0) {
			var runs []result.Run
			if in != nil && in.Contender(c.Name) != nil {
				runs = in.Contender(c.Name).Runs
			}
			if (c.Role == contender.Limit || c.Role == contender.Plain) && (s.Contended() || s.Stopped) {
				if len(runs) > 0 {
					t.Errorf("%s was measured in %s", c.Name, s.Name)
				}
			} else if len(runs) != 2 || runs[0].Place == runs[1].Place {
				t.Errorf("%s in %s: %+v, want two runs, in turn", c.Name, s.Name, runs)
			}
		}
	}
	for command := range d.Scenario("solo-of-5").Contender("holdfast-plain").Runs[0].Calls {
		if command == "fcall" {
			t.Error("holdfast-plain has called a function")
		}
	}
	if d.Server.Version == "" || !d.Server.Own || d.Server.Nodes != 5 || d.Libraries["github.com/go-redsync/redsync/v4"] == "" || len(d.Bars) == 0 {
		t.Errorf("server %+v, libraries %v, %d bars", d.Server, d.Libraries, len(d.Bars))
	}
	file := filepath.Join(t.TempDir(), "figures.json")
	if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"--markdown", "--json=false"} {
		code, out, errs := program(t, "--from", file, flag)
		if code != 0 || !strings.Contains(out, "crowd-1ms-of-3-far") || !strings.Contains(out, "redsync-best") {
			t.Errorf("%s: code %d, %s\n%s", flag, code, errs, out)
		}
	}
}

// TestSelection measures a choice, on as many servers as that needs, and leaves the bars that are about something else unmeasured. That one node
// stands still is seen by a library that waits for all of them.
func TestSelection(t *testing.T) {
	server, err := servers.StartRedis(t.Context()) // only to see whether it could
	servers.Need(t, err)
	server.Close()
	code, out, errs := program(t, "--scenarios", "solo-of-3", "--contenders", "holdfast,limit", "--runs", "1", "--for", "10ms", "--warm", "5ms", "--guard", "0s", "--strict")
	if code != missed || !strings.Contains(out, "3 servers of its own") || !strings.Contains(errs, "1/1 solo-of-3 limit:") {
		t.Errorf("code %d, %s\n%s", code, errs, out)
	}
	if strings.Contains(out, "redsync-best") || strings.Contains(out, "solo-of-5:  1") || !strings.Contains(out, "not measured  apart-of-5") {
		t.Errorf("it did not keep to the choice:\n%s", out)
	}
	code, out, errs = program(t, "--scenarios", "stopped-of-5", "--contenders", "redsync", "--runs", "1", "--for", "50ms", "--warm", "5ms", "--guard", "0s", "--json")
	var d result.Document
	if err := json.Unmarshal([]byte(out), &d); code != 0 || err != nil {
		t.Fatalf("code %d, %v:\n%s", code, err, errs)
	}
	if holds := d.Scenario("stopped-of-5").Contender("redsync").Runs[0].Holds; holds > 0 {
		t.Errorf("redsync, which waits for all nodes, held %d times in 0.1 s while one stood still", holds)
	}
}

func TestCommandLine(t *testing.T) {
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"--help", 0, "Usage: go run ./bench/redlock"},
		{"--scenarios nowhere", usage, `no scenario is named "nowhere"; there are solo-of-5, stopped-of-5, apart-of-5`},
		{"--contenders nobody", usage, `no contender is named "nobody"; there are limit, holdfast, holdfast-no-tokens, holdfast-plain, redsync, redsync-best`},
		{"--runs 0", usage, "must be above 0"},
		{"--for 0s", usage, "must be above 0"},
		{"--guard -1s", usage, "not below"},
		{"--json --markdown", usage, "choose one"},
		{"solo-of-5", usage, `"solo-of-5" is no flag`},
		{"--nonsense", usage, "not defined: -nonsense"},
		{"--from missing.json", failed, "missing.json"},
	} {
		code, _, errs := program(t, strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(errs, tt.want) {
			t.Errorf("%s: code %d, want %d, and in it %q:\n%s", tt.args, code, tt.code, tt.want, errs)
		}
	}
	code, out, _ := program(t, "--list", "--retry", "7ms", "--guard", "0s")
	for _, want := range []string{"solo-of-5 ", "crowd-1ms-of-3-far ", "each 1ms away", "the guard is 0s", "tries again after 7ms"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("--list: code %d, no %q in:\n%s", code, want, out)
		}
	}
}
