package main

import (
	"strings"
	"testing"

	"holdfast.dev/locktest/servers"
)

// program runs it, and returns its code and what it printed.
func program(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e strings.Builder
	code = run(t.Context(), args, &o, &e)
	return code, o.String(), e.String()
}

// TestMeasure: cases and timings come in their own order, however many run beside each other.
func TestMeasure(t *testing.T) {
	server, err := servers.StartRedis(t.Context()) // only to see whether it could
	servers.Need(t, err)
	server.Close()
	code, out, errs := program(t, "--cases", "promote,restart-empty", "--timings", "shortest,off", "--runs", "2", "--parallel", "8", "--markdown")
	if code != 0 || strings.Count(errs, "acquired after") != 8 {
		t.Fatalf("code %d:\n%s", code, errs)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for i, want := range []string{
		"| what happens | guard | TTL |", "|---|",
		"| one server, nothing kept: kill −9, started again | off | 10 s |", "| one server, nothing kept: kill −9, started again | 1 s | 1 s |",
		"| three nodes: kill −9, a replica is promoted at once | off | 10 s |", "| three nodes: kill −9, a replica is promoted at once | 4 s | 1 s |",
	} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d is not %q in:\n%s", i+1, want, out)
		}
	}
}

func TestCommandLine(t *testing.T) {
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"--help", 0, "Usage: go run ./bench/failover"},
		{"--cases nowhere", usage, `no case is named "nowhere"; there are restart-empty, restart-kept, shutdown, promote`},
		{"--timings never", usage, `no timing is named "never"; there are off, shortest, 10s, 30s`},
		{"--runs 0", usage, "must be above 0"},
		{"--parallel 0", usage, "must be above 0"},
		{"promote", usage, `"promote" is no flag`},
		{"--nonsense", usage, "not defined: -nonsense"},
	} {
		code, _, errs := program(t, strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(errs, tt.want) {
			t.Errorf("%s: code %d, want %d, and in it %q:\n%s", tt.args, code, tt.code, tt.want, errs)
		}
	}
	code, out, _ := program(t, "--list", "--cases", "sentinel")
	if code != 0 || !strings.Contains(out, "  sentinel  ") || !strings.Contains(out, "guard 1s, with replicas 4s") || strings.Contains(out, "promote") {
		t.Errorf("--list: code %d\n%s", code, out)
	}
}
