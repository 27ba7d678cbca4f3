package check

import (
	"testing"

	"holdfast.dev/torture/internal/history"
)

func faultless(m *history.Meta) { m.Class, m.Faults = "none", nil }

// Which answers are proper, when nothing is wrong.
func TestErrors(t *testing.T) {
	const wait = "got an error after 10.0 ms, though only a deadline may end a wait"
	try(t,
		trial{name: "of Lock", want: "liveness", says: wait, script: "20 a1 asks hot p1; 30 a1 failed"},
		trial{name: "of Lock without faults", change: faultless, want: "liveness", says: wait, script: "20 a1 asks hot p1; 30 a1 failed"},
		trial{name: "of Lock beyond", change: beyond, want: "liveness", says: wait, script: "20 a1 asks hot p1; 30 a1 failed"},
		trial{name: "of Campaign", want: "liveness", says: wait, script: "20 a1 asks chief p1 lead; 30 a1 failed"},
		trial{name: "of Lock with a deadline", want: "liveness", says: wait, script: "20 a1 asks hot p1 wait; 30 a1 failed"},
		trial{name: "of TryLock", want: "liveness", says: "tried, and got an error after 10.0 ms, though no fault could be felt", script: "20 a1 asks hot p1 try; 30 a1 failed"},
		trial{name: "of TryLock beyond", change: beyond, want: "liveness", script: "20 a1 asks hot p1 try; 30 a1 failed"},
		trial{name: "guarded for Lock", want: "liveness", says: wait, script: "20 a1 asks hot p1; 30 a1 guarded"},
		trial{name: "guarded for Lock with a deadline", want: "liveness", script: "20 a1 asks hot p1 wait; 30 a1 guarded"},
		trial{name: "guarded for TryLock", script: "20 a1 asks hot p1 try; 30 a1 guarded"},
		trial{name: "held for Lock", want: "liveness", script: "20 a1 asks hot p1; 30 a1 held"},
		trial{name: "held for TryLock", script: "20 a1 asks hot p1 try; 30 a1 held"},
		trial{name: "a deadline", script: "20 a1 asks hot p1 wait; 30 a1 gaveup"},
		trial{name: "a deadline of nobody's", want: "liveness", says: "was never served", script: "20 a1 asks hot p1; 30 a1 gaveup"},
	)
}

// The fault is felt from 1000 on, and after it has healed at 1100 for a TTL and a second: until 3000. Then there is a guarded one, from
// 10000 until 13000.
func TestErrorsInFaults(t *testing.T) {
	const faults = "1000 fault cut began; 1100 fault cut healed; 10000 fault guarded began; 10100 fault guarded healed;"
	for _, way := range []struct {
		asks           string
		within, beyond bool // a fault excuses it
	}{
		{asks: "asks hot p1", beyond: true},
		{asks: "asks chief p1 lead", beyond: true},
		{asks: "asks hot p1 wait", beyond: true},
		{asks: "asks hot p1 try", within: true, beyond: true},
	} {
		for _, when := range []struct {
			asked, answered string
			felt            bool
		}{
			{"990", "999.9", false},
			{"990", "1000", true},
			{"1040", "1050", true},
			{"990", "2500", true},
			{"3000", "3010", true},
			{"3000.1", "3010", false},
			{"13000", "13010", true},
			{"13000.1", "13010", false},
		} {
			for class, excused := range map[string]bool{"within": way.within, "beyond": way.beyond} {
				want := "liveness"
				if when.felt && excused {
					want = ""
				}
				script := faults + when.asked + " a1 " + way.asks + "; " + when.answered + " a1 failed; 20000 inspect warm"
				try(t, trial{name: class + " " + way.asks + " " + when.asked + " " + when.answered, want: want, script: script,
					change: func(m *history.Meta) { m.Class = class }})
			}
		}
	}
}

// Only TryLock may fail because somebody stands still.
func TestErrorsOfWhoStandsStill(t *testing.T) {
	const try1, lock = "20 a1 asks hot p1 try; 30 a1 failed;", "20 a1 asks hot p1; 30 a1 failed;"
	try(t,
		trial{name: "its process", script: try1 + "25 p1 stopped; 26 p1 continued"},
		trial{name: "its process until then", script: try1 + "15 p1 stopped; 20 p1 continued"},
		trial{name: "its process before", want: "liveness", script: try1 + "15 p1 stopped; 19.9 p1 continued"},
		trial{name: "its process afterwards", want: "liveness", script: try1 + "30.1 p1 stopped; 31 p1 continued"},
		trial{name: "another process", want: "liveness", script: try1 + "25 p2 stopped; 26 p2 continued"},
		trial{name: "the server", script: try1 + "25 p0 stopped; 26 p0 continued"},
		trial{name: "the server before", want: "liveness", script: try1 + "15 p0 stopped; 19.9 p0 continued"},
		trial{name: "the process of Lock", want: "liveness", script: lock + "25 p1 stopped; 26 p1 continued"},
		trial{name: "the process of Lock beyond", change: beyond, want: "liveness", script: lock + "25 p1 stopped; 26 p1 continued"},
		trial{name: "the server of Lock", want: "liveness", script: lock + "25 p0 stopped; 26 p0 continued"},
	)
}

// The fault heals at 100: somebody must have the lock at 2000. Nobody waits; three try, the last of them in the last second.
func TestAskedInVain(t *testing.T) {
	const (
		cut   = "50 fault cut began; 100 fault cut healed; 9000 inspect hot;"
		two   = "100 a1 asks hot p1 try; 110 a1 failed; 600 a2 asks hot p2 try; 610 a2 failed;"
		three = two + "1000 a3 asks hot p3 try; 2000 a3 failed;"
	)
	try(t,
		trial{name: "three times", want: "liveness", says: "nobody got the lock in the 1900.0 ms after cut had healed, and 3 attempts ended with an error (fault cut)",
			script: cut + three},
		trial{name: "three times beyond", change: beyond, want: "liveness", script: cut + three},
		trial{name: "by Lock beyond", change: beyond, want: "liveness", script: cut + `100 a1 asks hot p1; 110 a1 failed; 600 a2 asks hot p1; 610 a2 failed
			1000 a3 asks hot p1; 1010 a3 failed`},
		trial{name: "with a guard that does not end", want: "liveness", script: cut + `100 a1 asks hot p1 try; 110 a1 guarded; 600 a2 asks hot p2 try; 610 a2 guarded
			1000 a3 asks hot p3 try; 1010 a3 guarded`},
		trial{name: "twice", script: cut + two + "1000 a3 asks warm p3 try; 2000 a3 failed"},
		trial{name: "not after a TTL", script: cut + two + "999.9 a3 asks hot p3 try; 1010 a3 failed"},
		trial{name: "one was asked for before", script: cut + "99.9 a1 asks hot p1 try; 110 a1 failed; 600 a2 asks hot p2 try; 610 a2 failed; 1000 a3 asks hot p3 try; 1010 a3 failed"},
		trial{name: "one is answered afterwards", script: cut + two + "1000 a3 asks hot p3 try; 2000.1 a3 failed"},
		trial{name: "one has no answer", script: cut + two + "1000 a3 asks hot p3 try"},
		trial{name: "one gave up", script: cut + two + "1000 a3 asks hot p3 wait; 1010 a3 gaveup"},
		trial{name: "one stands still", script: cut + three + "1500 p3 stopped; 1501 p3 continued"},
		trial{name: "one stood still", want: "liveness", script: cut + three + "990 p3 stopped; 999 p3 continued"},
		trial{name: "the server stands still", script: cut + three + "1500 p0 stopped; 1501 p0 continued"},
		trial{name: "somebody was told that it is held", script: cut + three + "700 a4 asks hot p4 try; 701 a4 held"},
		trial{name: "somebody was told too late that it is held", want: "liveness", script: cut + three + "1900 a4 asks hot p4 try; 2000.1 a4 held"},
		trial{name: "somebody was told that another is held", want: "liveness", script: cut + three + "700 a4 asks warm p4 try; 701 a4 held"},
		trial{name: "somebody gets it", script: cut + three + "700 a4 asks hot p4 try; 2000 a4 granted 1 2800; 2001 a4 releases; 2002 a4 released ok"},
		trial{name: "somebody gets it too late", want: "liveness", script: cut + three + "700 a4 asks hot p4 try; 2000.1 a4 granted 1 2800; 2001 a4 releases; 2002 a4 released ok"},
		trial{name: "somebody waits too", want: "liveness", says: "worker 4 of process 4 (token 1) waited for it all the time",
			script: cut + three + "20 a4 asks hot p4; 2001 a4 granted 1 2800; 2002 a4 releases; 2003 a4 released ok"},
		trial{name: "somebody holds it", script: cut + two + `1500 a3 asks hot p3 try; 1510 a3 failed
			20 a4 asks hot p4; 30 a4 granted 1 9900; 100.1 a4 releases; 102 a4 released ok`},
		trial{name: "somebody held it", want: "liveness", script: cut + two + `1500 a3 asks hot p3 try; 1510 a3 failed
			20 a4 asks hot p4; 30 a4 granted 1 9900; 100 a4 releases; 101 a4 released ok`},
		trial{name: "another fault", script: cut + three + "2000 fault cut began; 2010 fault cut healed"},
		trial{name: "the round ends", script: "50 fault cut began; 100 fault cut healed; 1999 inspect hot; " + two + "1000 a3 asks hot p3 try; 1010 a3 failed"},
		trial{name: "while the guard goes on", script: "50 fault guarded began; 100 fault guarded healed; 9000 inspect hot;" + two +
			"1099.9 a3 asks hot p3 try; 1110 a3 guarded; 1200 a4 asks hot p4 try; 1210 a4 failed; 2000 a5 asks hot p5 try; 2010 a5 failed"},
		trial{name: "after the guard", want: "liveness", script: "50 fault guarded began; 100 fault guarded healed; 9000 inspect hot;" + two +
			"1100 a3 asks hot p3 try; 1110 a3 guarded; 1200 a4 asks hot p4 try; 1210 a4 failed; 2000 a5 asks hot p5 try; 2010 a5 failed"},
	)
}
