package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"holdfast.dev/bench/internal/contender"
	"holdfast.dev/bench/internal/figure"
	"holdfast.dev/bench/internal/measure"
	"holdfast.dev/bench/internal/result"
	"holdfast.dev/bench/internal/scenario"
)

func document() *result.Document {
	d := &result.Document{Runs: 3, For: "2s", Warm: "300ms", Libraries: map[string]string{"example.org/lock": "v1.2.3"}}
	d.Server = result.Server{Product: "Redis", Version: "7.0.15", Own: true}
	for i, throughput := range []float64{1000, 3000, 2000} {
		f := figure.None()
		f[figure.Throughput], f[figure.WaitP99] = throughput, 0.25
		s := scenario.Scenario{Name: "solo", Title: "1 goroutine"}
		d.Add(s, contender.Contender{Name: "ours", Role: contender.Ours}, i+1, 1, &measure.Result{Figures: f})
		f[figure.Throughput] *= 2
		d.Add(s, contender.Contender{Name: "peer", Role: contender.Peer}, i+1, 2, &measure.Result{Figures: f, Problem: "gave\nup"})
	}
	d.Summarise([]string{"ours", "peer"})
	d.Scale = &result.Scale{Locks: 100000, ServerCPU: 0.125}
	d.Bars = []result.Verdict{
		{Bar: "solo: speed", Wanted: "≥ 0.85", Measured: true, Got: 0.5, Min: 0.5, Max: 0.5},
		{Bar: "solo: waits", Wanted: "≤ 2", Measured: true, Met: true, Got: 1, Min: 1, Max: 1},
		{Bar: "apart: speed", Wanted: "≥ 0.65"},
	}
	return d
}

func print(t *testing.T, format func(*strings.Builder) error) string {
	t.Helper()
	var b strings.Builder
	if err := format(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestText: medians above their spreads, ratios, misses, failures.
func TestText(t *testing.T) {
	text := print(t, func(b *strings.Builder) error { return Text(b, document()) })
	for _, want := range []string{
		"Redis 7.0.15 (a server of its own); example.org/lock v1.2.3", "solo: 1 goroutine\n",
		"  ours       2000       –  0.500", "1000…3000", "2000…6000", "peer gave up, and was asked again; the last time it said: gave up\n",
		"MISSED        solo: speed   ≥ 0.85  0.500 (0.500…0.500)", "met           solo: waits", "not measured  apart: speed",
		"12.5 % of one processor", "Fewer than 5 repetitions",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

func TestMarkdown(t *testing.T) {
	page := print(t, func(b *strings.Builder) error { return Markdown(b, document()) })
	for _, want := range []string{"### solo: 1 goroutine\n\n|  | holds/s |", "\n|---|", "| ours | 2000 (1000…3000) | – | 0.500 |", "| MISSED | solo: speed |"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in:\n%s", want, page)
		}
	}
}

// TestGuardColumns: where the question is what the guard costs, there are other columns.
func TestGuardColumns(t *testing.T) {
	d := new(result.Document)
	f := figure.None()
	f[figure.Throughput] = 1000
	s := scenario.Scenario{Name: "guard-solo"}
	d.Add(s, contender.Contender{Name: "ours", Role: contender.Ours}, 1, 1, &measure.Result{Figures: f})
	f[figure.Throughput] = 970
	d.Add(s, contender.Contender{Name: "on", Role: contender.Guarded}, 1, 2, &measure.Result{Figures: f})
	d.Summarise([]string{"ours", "on"})
	page := print(t, func(b *strings.Builder) error { return Markdown(b, d) })
	for _, want := range []string{"|  | holds/s | ×off |", "| ours | 1000 | – |", "| on | 970 | 0.970 |"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in:\n%s", want, page)
		}
	}
	if text := print(t, func(b *strings.Builder) error { return Text(b, d) }); strings.Contains(text, "gap p50") || !strings.Contains(text, "p50 ×off") {
		t.Errorf("the columns are others:\n%s", text)
	}
}

// TestMajorityColumns: locks in a majority have columns of their own, and others where a node stands still.
func TestMajorityColumns(t *testing.T) {
	d := new(result.Document)
	d.Server = result.Server{Product: "Redis", Own: true, Nodes: 5}
	well := scenario.Scenario{Name: "solo-of-5", Nodes: 5}
	ill := scenario.Scenario{Name: "stopped-of-5", Nodes: 5, Healthy: "solo-of-5"}
	for name, waits := range map[string][2]float64{"limit": {1, 0}, "ours": {2, 3}} {
		for i, s := range []scenario.Scenario{well, ill} {
			role := contender.Ours
			if name == "limit" {
				if role = contender.Limit; i == 1 {
					continue
				}
			}
			f := figure.None()
			f[figure.WaitP50], f[figure.WaitP99] = waits[i], waits[i]
			d.Add(s, contender.Contender{Name: name, Role: role}, 1, 1, &measure.Result{Figures: f})
		}
	}
	d.AddViolation(well, contender.Contender{Name: "peer", Role: contender.Peer}, 1, 1, &measure.Violation{What: "two were inside"})
	d.Summarise([]string{"limit", "ours", "peer"})
	text := print(t, func(b *strings.Builder) error { return Text(b, d) })
	for _, want := range []string{"5 servers of its own", "round trips", "p99 ×healthy", "peer DID NOT EXCLUDE in 1 of 1 repetitions, which have no figures: two were inside"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	page := print(t, func(b *strings.Builder) error { return Markdown(b, d) })
	for _, want := range []string{"| ours | – | – | – | – | – | – | 2 | 2 | 2 |", "| ours | – | – | – | 3 | 3 | 1.50 |"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in:\n%s", want, page)
		}
	}
}

// TestPrint chooses the form.
func TestPrint(t *testing.T) {
	for want, how := range map[string][2]bool{"{": {true, false}, "### solo": {false, true}, "\nsolo: 1 goroutine\n": {false, false}} {
		text := print(t, func(b *strings.Builder) error { return Print(b, document(), how[0], how[1]) })
		if !strings.Contains(text, want) || strings.HasPrefix(text, "{") != how[0] {
			t.Errorf("json %v, markdown %v:\n%s", how[0], how[1], text)
		}
	}
}

func TestTable(t *testing.T) {
	rows := [][]string{{"what", "how long"}, {"a|b", "1 s"}}
	for markdown, want := range map[bool]string{false: "  what  how long\n  a|b   1 s\n", true: "| what | how long |\n|---|---|\n| a\\|b | 1 s |\n"} {
		if got := print(t, func(b *strings.Builder) error { return Table(b, rows, markdown) }); got != want {
			t.Errorf("got\n%s, want\n%s", got, want)
		}
	}
}

// TestJSON: nothing that is printed gets lost on the way through a file.
func TestJSON(t *testing.T) {
	text := print(t, func(b *strings.Builder) error { return JSON(b, document()) })
	back := new(result.Document)
	if err := json.Unmarshal([]byte(text), back); err != nil {
		t.Fatal(err)
	}
	back.Summarise([]string{"ours", "peer"})
	want := print(t, func(b *strings.Builder) error { return Text(b, document()) })
	if got := print(t, func(b *strings.Builder) error { return Text(b, back) }); got != want {
		t.Errorf("from a file it prints:\n%s\nwant:\n%s", got, want)
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 7: "7", 12345.6: "12346", 123.4: "123", 12.34: "12.3", 1.234: "1.23", 0.1234: "0.123", -2.5: "-2.50"} {
		if got := number(v); got != want {
			t.Errorf("%g is printed as %s, want %s", v, got, want)
		}
	}
	if got := number(math.NaN()); got != "–" {
		t.Errorf("nothing is printed as %s", got)
	}
}
