package check

import (
	"testing"
	"time"
)

func TestWindows(t *testing.T) {
	// The first holds from 12 on. Each trial says how that ends, and when the second is granted.
	try(t,
		trial{name: "one after the other", script: `
			10 a1 asks hot p1;  12 a1 granted 1 900;  100 a1 releases; 101 a1 released ok
			50 a2 asks hot p2; 102 a2 granted 2 990;  110 a2 releases; 111 a2 released ok`},
		trial{name: "before the release was asked for", want: "windows", says: "for 20.0 ms", script: `
			10 a1 asks hot p1;  12 a1 granted 1 900;  100 a1 releases; 101 a1 released ok
			50 a2 asks hot p2;  80 a2 granted 2 990;  110 a2 releases; 111 a2 released ok`},
		trial{name: "when the release was asked for", script: `
			10 a1 asks hot p1;  12 a1 granted 1 900;  100 a1 releases; 101 a1 released ok
			50 a2 asks hot p2; 100 a2 granted 2 990;  110 a2 releases; 111 a2 released ok`},
		trial{name: "a nanosecond before", want: "windows", script: `
			10 a1 asks hot p1;  12 a1 granted 1 900;  100 a1 releases; 101 a1 released ok
			50 a2 asks hot p2;  99.999999 a2 granted 2 990;  110 a2 releases; 111 a2 released ok`},
		trial{name: "another lock", script: `
			10 a1 asks hot p1;  12 a1 granted 1 900;  100 a1 releases; 101 a1 released ok
			50 a2 asks warm p2; 80 a2 granted 2 990;  110 a2 releases; 111 a2 released ok`},
		trial{name: "after the validity", script: `
			10 a1 asks hot p1;  12 a1 granted 1 900;  905 a1 told expired; 1000 a1 releases; 1001 a1 released lost
			50 a2 asks hot p2; 900 a2 granted 2 1790; 1010 a2 releases; 1011 a2 released ok`},
		trial{name: "within the validity", want: "windows", says: "worker 1 of process 1 (token 1) and worker 2 of process 2 (token 2)", script: `
			10 a1 asks hot p1;  12 a1 granted 1 900;  905 a1 told expired; 1000 a1 releases; 1001 a1 released lost
			50 a2 asks hot p2; 899 a2 granted 2 1790; 1010 a2 releases; 1011 a2 released ok`},
		trial{name: "within the validity of a renewal", want: "windows", script: `
			10 a1 asks hot p1;  12 a1 granted 1 900;  300 a1 renewed 1190; 1195 a1 told expired; 1200 a1 releases; 1201 a1 released lost
			50 a2 asks hot p2; 901 a2 granted 2 1790; 1010 a2 releases; 1011 a2 released ok`},
		trial{name: "within the validity of a look", want: "windows", script: `
			10 a1 asks hot p1;  12 a1 granted 1 900;  300 a1 looks 1190; 1195 a1 told expired; 1200 a1 releases; 1201 a1 released lost
			50 a2 asks hot p2; 901 a2 granted 2 1790; 1010 a2 releases; 1011 a2 released ok`},
		trial{name: "after the loss was told", script: `
			10 a1 asks hot p1;  12 a1 granted 1 900;  200 a1 told taken; 1000 a1 releases; 1001 a1 released lost
			50 a2 asks hot p2; 200 a2 granted 2 990; 210 a2 releases; 211 a2 released ok`},
		trial{name: "after its death", script: `
			10 a1 asks hot p1;  12 a1 granted 1 900;  200 p1 killed; 250 p1 ended 9
			50 a2 asks hot p2; 200 a2 granted 2 990; 210 a2 releases; 211 a2 released ok`},
		trial{name: "before its death", want: "windows", script: `
			10 a1 asks hot p1;  12 a1 granted 1 900;  200 p1 killed; 250 p1 ended 9
			50 a2 asks hot p2; 199 a2 granted 2 990; 210 a2 releases; 211 a2 released ok`},
		trial{name: "nothing runs out", want: "windows", script: `
			10 a1 asks hot p1;  12 a1 granted 1 never;  9000 a1 releases; 9001 a1 released ok
			50 a2 asks hot p2; 8000 a2 granted 2 never; 8001 a2 releases; 8002 a2 released ok`},
		trial{name: "a grant that had run out", script: `
			10 a1 asks hot p1;  950 a1 granted 1 900;  951 a1 releases; 952 a1 released lost
			50 a2 asks hot p2;  940 a2 granted 2 1800; 960 a2 releases; 961 a2 released ok`},
		trial{name: "three in one", want: "windows windows", script: `
			10 a1 asks hot p1;  12 a1 granted 1 900;  500 a1 releases; 501 a1 released ok
			50 a2 asks hot p2;  80 a2 granted 2 900;  100 a2 releases; 101 a2 released ok
			60 a3 asks hot p3; 200 a3 granted 3 900;  210 a3 releases; 211 a3 released ok`},
		trial{name: "beyond", change: beyond, script: `
			10 a1 asks hot p1;  12 a1 granted 1 900;  100 a1 releases; 101 a1 released ok
			50 a2 asks hot p2;  80 a2 granted 2 990;  110 a2 releases; 111 a2 released ok`},
	)
}

// Overlaps are counted in every class: once for each window that began too early.
func TestOverlapFigures(t *testing.T) {
	for _, class := range []string{"within", "beyond"} {
		h := parse(t, `
			10 a1 asks hot p1;   12 a1 granted 1 900;  500 a1 releases; 501 a1 released ok
			50 a2 asks hot p2;   80 a2 granted 2 900;  110 a2 releases; 111 a2 released ok
			60 a3 asks chief p3; 61 a3 granted 3 900;  210 a3 releases; 211 a3 released ok
			60 a4 asks chief p4; 200 a4 granted 4 900; 290 a4 releases; 291 a4 released ok`)
		h.Meta.Class = class
		f, err := Round(h)
		if err != nil {
			t.Fatal(err)
		}
		want := Overlaps{Count: 2, Longest: 30 * time.Millisecond, Sum: 40 * time.Millisecond}
		if f.Overlaps != want {
			t.Errorf("%s: %+v, want %+v", class, f.Overlaps, want)
		}
		if n := len(f.Violations); (n == 2) != (class == "within") || n+len(f.Measured) != 2 {
			t.Errorf("%s: violations %v, measured %v", class, f.Violations, f.Measured)
		}
	}
}
