package check

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"holdfast.dev/torture/internal/history"
)

// Attempts belong to the fault that had begun last when they were asked for; the rest to that which had when it happened.
func TestRows(t *testing.T) {
	f, err := Round(parse(t, `
		10 a1 asks hot p1;  12 a1 granted 1 900; 250 a1 told taken; 251 a1 releases; 252 a1 released lost
		20 a2 asks warm p2 try; 22 a2 held; 25 inspect warm
		30 a8 asks chief p5 lead; 35 a8 granted 1 900; 220 a8 releases; 221 a8 released ok
		100 fault cut began; 110 fault cut healed
		100 a3 asks warm p2; 120 a3 granted 2 900; 130 a3 writes 5; 131 a3 applied write 5; 132 a3 wrote ok; 140 a3 releases; 141 a3 released ok
		200 fault flush began; 201 fault flush healed
		210 a4 asks hot p3; 211 a4 granted 2 900; 212 a4 writes 7 fenced; 213 a4 applied write 7 fenced; 214 a4 wrote ok fenced
		215 inspect hot; 260 a4 releases; 261 a4 released ok
		300 fault cut began; 310 fault cut healed; 320 a5 asks hot p3 try; 321 a5 failed`, beyond))
	if err != nil {
		t.Fatal(err)
	}
	want := []Row{
		{Store: "toy", Fault: "none", Class: "none", Operations: 4, Holds: 2},
		{Store: "toy", Fault: "cut", Class: "within", Faults: 2, Operations: 2, Holds: 1, Failed: 1, UnfencedLost: 1, LongestHeal: 10 * time.Millisecond},
		{Store: "toy", Fault: "flush", Class: "beyond", Faults: 1, Operations: 2, Holds: 1, LossesTold: 1, FencedLost: 1, Violations: 1, Overlaps: 1,
			LongestOverlap: 39 * time.Millisecond, LongestTold: 50 * time.Millisecond},
	}
	if !slices.Equal(f.Rows, want) {
		t.Errorf("%+v\nwant %+v", f.Rows, want)
	}
	if v := f.Violations; len(v) != 1 || v[0].Checker != "registers" || v[0].Fault != "flush" {
		t.Errorf("%v", v)
	}
}

// In a round beyond the store's assumptions an overlap is the work of the last fault that is, whatever has begun since.
func TestBlame(t *testing.T) {
	const overlap = `10 a1 asks hot p1; 500 a1 granted 1 900; 550 a1 releases; 551 a1 released ok
		20 a2 asks hot p2; 540 a2 granted 2 900; 545 a2 writes 5 fenced; 545 a2 applied write 5 fenced; 546 a2 wrote ok fenced
		560 a2 releases; 561 a2 released ok; 400 fault cut began; 401 fault cut healed;`
	for _, c := range []struct{ class, script, want string }{
		{"beyond", overlap + "200 fault flush began; 201 fault flush healed", "flush"},
		{"beyond", overlap + "600 fault flush began; 601 fault flush healed", "cut"},
		{"within", overlap + "200 fault flush began; 201 fault flush healed", "cut"},
	} {
		f, err := Round(parse(t, c.script, func(m *history.Meta) { m.Class = c.class }))
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range f.Rows {
			if (row.Overlaps == 1 && row.FencedLost == 1) != (row.Fault == c.want) {
				t.Errorf("%s, %s: %+v", c.class, c.want, row)
			}
		}
	}
}

// A fault without a class has that of its round; one that does not happen has no row.
func TestRowsOfNoClass(t *testing.T) {
	f, err := Round(parse(t, "50 fault cut began; 51 fault cut healed", func(m *history.Meta) { m.Faults[0].Class = "" }, beyond))
	if err != nil || !slices.Equal(f.Rows, []Row{{Store: "toy", Fault: "cut", Class: "beyond", Faults: 1}}) {
		t.Errorf("%+v, %v", f.Rows, err)
	}
}

// A violation names the fault that is going on, rather than a later one that is over.
func TestFaultOfAViolation(t *testing.T) {
	const leak = "90 p1 rest 1 goroutines"
	for script, want := range map[string]string{
		leak:                          "",
		leak + "; 91 fault cut began": "",
		leak + "; 10 fault cut began; 20 fault cut healed":                                              "cut",
		leak + "; 90 fault cut began; 91 fault cut healed":                                              "cut",
		leak + "; 10 fault cut began; 20 fault cut healed; 30 fault flush began; 40 fault flush healed": "flush",
		leak + "; 10 fault cut began; 30 fault flush began; 40 fault flush healed":                      "cut",
		leak + "; 10 fault cut began; 90 fault cut healed; 30 fault flush began; 40 fault flush healed": "flush",
	} {
		f, err := Round(parse(t, script))
		if err != nil || len(f.Violations) != 1 || f.Violations[0].Fault != want {
			t.Errorf("%s: %v, %v, want %q", script, f, err, want)
		}
	}
}

func TestAdd(t *testing.T) {
	one := Row{Store: "redis", Fault: "cut", Class: "within", Faults: 1, Operations: 2, Holds: 3, Failed: 12, LossesTold: 4, UnfencedLost: 5, FencedLost: 6,
		Violations: 7, Overlaps: 8, LongestOverlap: 9, LongestHeal: 10, LongestTold: 11}
	two := Row{Store: "redis", Fault: "cut", Class: "within", Faults: 10, Operations: 20, Holds: 30, Failed: 120, LossesTold: 40, UnfencedLost: 50, FencedLost: 60,
		Violations: 70, Overlaps: 80, LongestOverlap: 8, LongestHeal: 11, LongestTold: 12}
	sum := Row{Store: "redis", Fault: "cut", Class: "within", Faults: 11, Operations: 22, Holds: 33, Failed: 132, LossesTold: 44, UnfencedLost: 55, FencedLost: 66,
		Violations: 77, Overlaps: 88, LongestOverlap: 9, LongestHeal: 11, LongestTold: 12}
	file, beyond, none := Row{Store: "file", Fault: "cut", Class: "within", Faults: 1}, Row{Store: "redis", Fault: "a", Class: "beyond"}, Row{Store: "redis",
		Fault: "none", Class: "none"}
	if got := Add([]Row{one, beyond}, []Row{none, file}, nil, []Row{two}); !slices.Equal(got, []Row{file, none, sum, beyond}) {
		t.Errorf("%+v", got)
	}
	if got := Add(); got != nil {
		t.Errorf("%+v", got)
	}
}

func TestRowsAsJSON(t *testing.T) {
	want := Row{Store: "redis", Fault: "cut", Class: "within", Faults: 1, Operations: 2, Holds: 3, Failed: 12, LossesTold: 4, UnfencedLost: 5, FencedLost: 6,
		Violations: 7, Overlaps: 8, LongestOverlap: 9, LongestHeal: 10, LongestTold: 11}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Row
	if err := json.Unmarshal(text, &got); err != nil || got != want {
		t.Errorf("%s: %+v, %v", text, got, err)
	}
	const names = `{"store":"redis","fault":"cut","class":"within","faults":1,"operations":2,"holds":3,"failed":12,"lossesTold":4,"unfencedLost":5,"fencedLost":6,` +
		`"violations":7,"overlaps":8,"longestOverlap":9,"longestHeal":10,"longestTold":11}`
	if string(text) != names {
		t.Errorf("%s", text)
	}
}
