package check

import (
	"testing"

	"holdfast.dev/torture/internal/history"
)

func TestTokens(t *testing.T) {
	const first = "10 a1 asks hot p1;  12 a1 granted 5 900;  20 a1 releases; 21 a1 released ok;"
	try(t,
		trial{name: "rising", script: first + `13 a2 asks hot p2; 30 a2 granted 6 920; 40 a2 releases; 41 a2 released ok`},
		trial{name: "falling", want: "tokens", says: "asked 1.0 ms after worker 1 of process 1 (token 5)",
			script: first + `13 a2 asks hot p2; 30 a2 granted 4 920; 40 a2 releases; 41 a2 released ok`},
		trial{name: "asked when the other was granted", script: first + `12 a2 asks hot p2; 30 a2 granted 4 920; 40 a2 releases; 41 a2 released ok`},
		trial{name: "asked a nanosecond later", want: "tokens",
			script: first + `12.000001 a2 asks hot p2; 30 a2 granted 4 920; 40 a2 releases; 41 a2 released ok`},
		trial{name: "the same", want: "tokens", says: "got the token of",
			script: first + `13 a2 asks hot p2; 30 a2 granted 5 920; 40 a2 releases; 41 a2 released ok`},
		trial{name: "the same asked before", want: "tokens",
			script: first + `11 a2 asks hot p2; 30 a2 granted 5 920; 40 a2 releases; 41 a2 released ok`},
		trial{name: "the same of another lock", script: first + `13 a2 asks warm p2; 30 a2 granted 5 920; 40 a2 releases; 41 a2 released ok`},
		trial{name: "smaller than one before the last", want: "tokens", says: "(token 5)", script: first + `
			13 a2 asks hot p2; 30 a2 granted 6 920; 40 a2 releases; 41 a2 released ok
			29 a3 asks hot p3; 50 a3 granted 4 930; 60 a3 releases; 61 a3 released ok`},
		trial{name: "none", want: "tokens", says: "no token", script: `10 a1 asks hot p1; 12 a1 granted 0 900; 20 a1 releases; 21 a1 released ok`},
		trial{name: "none of a store without", change: unfenced, script: `
			10 a1 asks hot p1;   12 a1 granted 0 900; 20 a1 releases; 21 a1 released ok
			13 a2 asks hot p2;   30 a2 granted 0 920; 40 a2 releases; 41 a2 released ok
			13 a3 asks chief p2; 30 a3 granted 0 920; 40 a3 releases; 41 a3 released ok
			43 a4 asks chief p2; 50 a4 granted 0 920; 60 a4 releases; 61 a4 released ok`},
		trial{name: "falling beyond where it is durable", want: "tokens", change: beyond,
			script: first + `13 a2 asks hot p2; 30 a2 granted 4 920; 40 a2 releases; 41 a2 released ok`},
		trial{name: "falling beyond where it is not", change: volatile,
			script: first + `13 a2 asks hot p2; 30 a2 granted 4 920; 40 a2 releases; 41 a2 released ok`},
		trial{name: "falling beyond where it is not and nothing was forgotten", want: "tokens",
			change: func(m *history.Meta) {
				volatile(m)
				for i := range m.Faults {
					m.Faults[i].Forgets = false
				}
			},
			script: first + `13 a2 asks hot p2; 30 a2 granted 4 920; 40 a2 releases; 41 a2 released ok`},
	)
}

func TestTokensOfRenewals(t *testing.T) {
	const hold = "10 a1 asks hot p1; 12 a1 granted 5 900; 1000 a1 releases; 1001 a1 released ok;"
	try(t,
		trial{name: "its own", script: hold + `300 a1 renewed 1190; 600 a1 renewed 1490`},
		trial{name: "another", want: "tokens", says: "it held the lock with token 5", script: hold + `200 a1 renewed 1090; 300 a1 renewed 1190 6; 400 a1 renewed 1290 6;
			500 a1 renewed 1390`},
		trial{name: "of another process", want: "tokens", script: hold + `
			11 a2 asks hot p2; 1010 a2 granted 6 1900; 1020 a2 releases; 1021 a2 released ok
			300 a1 renewed 1190; 600 a1 renewed 1490; 1012 a1 renewed 1800 6`},
		trial{name: "before it was granted", script: `
			10 a1 asks hot p1; 11 a1 renewed 1190 5; 12 a1 granted 5 900; 20 a1 releases; 21 a1 released ok`},
		trial{name: "of a grant that nobody heard of", script: `10 a1 asks hot p1; 300 a1 renewed 1190 5; 400 p1 killed; 401 p1 ended 9`},
		trial{name: "of an attempt that gave up meanwhile", script: `10 a1 asks hot p1 wait; 300 a1 renewed 1190 5; 300 a1 gaveup`},
		trial{name: "of an attempt that had given up", want: "tokens", script: `10 a1 asks hot p1 wait; 299 a1 gaveup; 300 a1 renewed 1190 5`},
		trial{name: "of an attempt of that moment", script: `300 a1 asks hot p1 wait; 310 a1 gaveup; 300 a1 renewed 1190 5`},
		trial{name: "of an attempt to come", want: "tokens", script: `9 a2 asks warm p1 wait; 9 a2 gaveup; 299 a1 asks hot p1 wait; 300 a1 gaveup; 298 a1 renewed 1190 5`},
		trial{name: "of no hold where there are none", change: unfenced, script: `10 a1 asks hot p1 wait; 299 a1 gaveup; 300 a1 renewed 1190 5`},
	)
}

func TestLeaders(t *testing.T) {
	const first = "10 a1 asks chief p1 lead;  12 a1 granted 5 900;  200 a1 releases; 201 a1 released ok;"
	try(t,
		trial{name: "one after the other", script: first + `11 a2 asks chief p2 lead; 200 a2 granted 6 1090; 210 a2 releases; 211 a2 released ok`},
		trial{name: "two", want: "leaders", says: "lead at the same time, for 1.0 ms",
			script: first + `11 a2 asks chief p2 lead; 199 a2 granted 6 1090; 210 a2 releases; 211 a2 released ok`},
		trial{name: "two beyond", change: beyond, script: first + `11 a2 asks chief p2 lead; 199 a2 granted 6 1090; 210 a2 releases; 211 a2 released ok`},
		trial{name: "terms fall although it had asked before", want: "leaders", says: "the term of worker 2",
			script: first + `11 a2 asks chief p2 lead; 203 a2 granted 4 1090; 210 a2 releases; 211 a2 released ok`},
		trial{name: "terms fall", want: "leaders", script: first + `202 a2 asks chief p2 lead; 203 a2 granted 4 1090; 210 a2 releases; 211 a2 released ok`},
		trial{name: "terms fall beyond", want: "leaders", change: beyond,
			script: first + `202 a2 asks chief p2 lead; 203 a2 granted 4 1090; 210 a2 releases; 211 a2 released ok`},
		trial{name: "terms fall beyond where tokens may", change: volatile,
			script: first + `202 a2 asks chief p2 lead; 203 a2 granted 4 1090; 210 a2 releases; 211 a2 released ok`},
		trial{name: "the same term", want: "leaders", script: first + `202 a2 asks chief p2 lead; 203 a2 granted 5 1090; 210 a2 releases; 211 a2 released ok`},
		trial{name: "no term", want: "leaders", script: first + `202 a2 asks chief p2 lead; 203 a2 granted 0 1090; 210 a2 releases; 211 a2 released ok`},
		trial{name: "another term when it is renewed", want: "leaders", script: first + `100 a1 renewed 990 6`},
		trial{name: "falling below the term before the last", want: "leaders", says: "(token 7), who had led before", script: first + `
			11 a2 asks chief p2 lead; 203 a2 granted 7 1090; 210 a2 releases; 211 a2 released ok
			12 a3 asks chief p3 lead; 213 a3 granted 6 1090; 220 a3 releases; 221 a3 released ok`},
		trial{name: "a grant that had run out", script: `
			10 a1 asks chief p1 lead; 950 a1 granted 5 900;  951 a1 releases; 952 a1 released lost
			11 a2 asks chief p2 lead; 940 a2 granted 6 1800; 960 a2 releases; 961 a2 released ok`},
	)
}
