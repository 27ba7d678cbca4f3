package check

import (
	"strings"
	"testing"
)

// turn is an attempt that reads a number and writes the next, between two times; where %: in each of its accesses.
const (
	hold1 = "10 a1 asks hot p1; 12 a1 granted 1 900; 100 a1 releases; 101 a1 released ok;"
	hold2 = "102 a2 asks hot p2; 104 a2 granted 2 990; 200 a2 releases; 201 a2 released ok;"

	first  = hold1 + "20 a1 reads %; 21 a1 applied read 0 %; 22 a1 read 0 %; 30 a1 writes 1 %; 31 a1 applied write 1 %; 32 a1 wrote ok %;"
	second = hold2 + "120 a2 reads %; 121 a2 applied read 1 %; 122 a2 read 1 %; 130 a2 writes 2 %; 131 a2 applied write 2 %; 132 a2 wrote ok %;"
	late   = "140 a1 writes 2 %; 141 a1 applied write 2 %; 142 a1 wrote ok %;"
)

func fenced(script string) string { return strings.ReplaceAll(script, "%", "fenced") }
func open(script string) string   { return strings.ReplaceAll(script, "%", "") }

func TestLostUpdates(t *testing.T) {
	// The second wrote 2, and so does the first afterwards: it has not seen that.
	try(t,
		trial{name: "nothing lost", script: fenced(first + second)},
		trial{name: "nothing lost in either", script: fenced(first) + "23 a1 reads; 23 a1 applied read 0; 24 a1 read 0"},
		trial{name: "fenced", want: "registers", says: "wrote 2 to the fenced register, which had 2 already", script: fenced(first + second + late)},
		trial{name: "unfenced", script: open(first + second + late)},
		trial{name: "fenced beyond", want: "registers", change: beyond, script: fenced(first + second + late)},
		trial{name: "fenced beyond with tokens that may fall", change: volatile, script: fenced(first + second + late)},
		trial{name: "without tokens there is no fence", change: unfenced, script: fenced(first + second + late)},
		trial{name: "refused", script: fenced(first + second + "140 a1 writes 2 %; 142 a1 wrote stale %")},
		trial{name: "a number left out", want: "registers", says: "wrote 3 to the fenced register, which had 1",
			script: fenced(first + hold2 + "130 a2 writes 3 %; 131 a2 applied write 3 %; 132 a2 wrote ok %")},
		trial{name: "registers of two locks", script: fenced(first + `102 a2 asks warm p2; 104 a2 granted 2 990; 200 a2 releases; 201 a2 released ok
			130 a2 writes 1 %; 131 a2 applied write 1 %; 132 a2 wrote ok %`)},
	)
}

func TestLossFigures(t *testing.T) {
	f, err := Round(parse(t, fenced(first+second+late)+open(
		"23 a1 writes 1; 23 a1 applied write 1; 24 a1 wrote ok; 25 a1 writes 1; 25 a1 applied write 1; 26 a1 wrote ok;"+
			"27 a1 writes 1; 27 a1 applied write 1; 28 a1 wrote ok")))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Rows) != 1 || f.Rows[0].UnfencedLost != 2 || f.Rows[0].FencedLost != 1 || len(f.Measured) != 2 || len(f.Violations) != 1 {
		t.Errorf("%+v", f)
	}
}

func TestRig(t *testing.T) {
	try(t,
		trial{name: "written and not applied", want: "registers", says: "that 1 was written to the unfenced register once, and it was never",
			script: hold1 + "30 a1 writes 1; 32 a1 wrote ok"},
		trial{name: "applied once more", want: "registers", says: "wrote 1 to the unfenced register 2 times, and may have once",
			script: hold1 + "30 a1 writes 1; 31 a1 applied write 1; 31 a1 applied write 1; 32 a1 wrote ok"},
		trial{name: "applied to the other register", want: "registers registers",
			script: hold1 + "30 a1 writes 1; 31 a1 applied write 1 fenced; 32 a1 wrote ok"},
		trial{name: "written twice applied twice", script: open(first+second) + `
			140 a1 writes 1; 141 a1 applied write 1; 142 a1 wrote ok; 150 a2 writes 2; 151 a2 applied write 2; 152 a2 wrote ok`},
		trial{name: "written twice applied once", want: "registers", script: open(first+second) + `
			140 a1 writes 1; 141 a1 applied write 1; 142 a1 wrote ok; 150 a2 writes 2; 152 a2 wrote ok`},
		trial{name: "refused and applied", want: "registers", says: "and may have never: otherwise it was refused",
			script: fenced(hold1 + "30 a1 writes 1 %; 31 a1 applied write 1 %; 32 a1 wrote stale %")},
		trial{name: "without an answer and applied", script: hold1 + "30 a1 writes 1; 31 a1 applied write 1"},
		trial{name: "without an answer and not applied", script: hold1 + "30 a1 writes 1"},
		trial{name: "failed and applied", script: hold1 + "30 a1 writes 1; 31 a1 applied write 1; 32 a1 wrote failed"},
		trial{name: "failed and not applied", script: hold1 + "30 a1 writes 1; 32 a1 wrote failed"},
		trial{name: "failed and applied twice", want: "registers",
			script: hold1 + "30 a1 writes 1; 31 a1 applied write 1; 31 a1 applied write 1; 32 a1 wrote failed"},
		trial{name: "never asked for", want: "registers", says: "and never asked for it", script: hold1 + "31 a1 applied write 1; 31 a1 applied write 1"},
		trial{name: "what the register does not have", want: "registers", says: "was given 1 by the unfenced register, which had 0",
			script: hold1 + "21 a1 applied read 1"},
		trial{name: "beyond it counts as well", want: "registers", change: beyond, script: hold1 + "30 a1 writes 1; 32 a1 wrote ok"},
	)
}

func TestReads(t *testing.T) {
	// The register has 0 until 31, 1 until 131, then 2.
	history := open(first + second)
	try(t,
		trial{name: "before the first write", script: history + "25 a1 reads; 31 a1 read 0"},
		trial{name: "when it changed", script: history + "31 a1 reads; 33 a1 read 0"},
		trial{name: "after it had changed", want: "registers", says: "read 0 from the unfenced register, which did not have it in the 1.9 ms meanwhile",
			script: history + "33.1 a1 reads; 35 a1 read 0"},
		trial{name: "while it changed", script: history + "130.5 a2 reads fenced; 131 a2 read 0 fenced; 130 a1 reads; 140 a1 read 2"},
		trial{name: "at the moment of the change", script: history + "124 a1 reads; 131 a1 read 2"},
		trial{name: "before it has changed", want: "registers", script: history + "124 a1 reads; 130 a1 read 2"},
		trial{name: "what it never had", want: "registers", script: history + "124 a1 reads; 150 a1 read 7"},
		trial{name: "long ago", want: "registers", script: history + "140 a1 reads; 150 a1 read 1"},
		trial{name: "to the end", script: history + "240 a1 reads; 250 a1 read 2"},
		trial{name: "nothing was ever written", script: hold1 + "20 a1 reads; 21 a1 read 0"},
		trial{name: "nothing but a number", want: "registers", script: hold1 + "20 a1 reads; 21 a1 read 1"},
		trial{name: "refused", script: history + "124 a1 reads fenced; 150 a1 read stale fenced"},
		trial{name: "a number that came back", script: history + `
			140 a1 writes 1; 141 a1 applied write 1; 142 a1 wrote ok; 145 a2 reads; 146 a2 read 1; 145 a1 reads fenced; 146 a1 read 0 fenced`},
	)
}
