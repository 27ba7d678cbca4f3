package check

import (
	"testing"
	"time"

	"holdfast.dev/torture/internal/history"
)

// The fault heals at 100: TTL + 1 s are over at 2000.
func TestHeals(t *testing.T) {
	const (
		fault = "50 fault cut began; 100 fault cut healed;"
		end   = "9000 inspect hot;"
	)
	served := func(when string) string {
		return "20 a1 asks hot p1; " + when + " a1 granted 1 9900; " + when + ".1 a1 releases; " + when + ".2 a1 released ok;"
	}
	script := fault + end
	try(t,
		trial{name: "in time", script: script + served("2000")},
		trial{name: "too late", want: "liveness", says: "nobody got the lock in the 1900.0 ms after cut had healed", script: script + served("2001")},
		trial{name: "too late beyond", change: beyond, want: "liveness", script: script + served("2001")},
		trial{name: "too late but a nanosecond", want: "liveness", script: script + `
			20 a1 asks hot p1; 2000.000001 a1 granted 1 9900; 2001 a1 releases; 2002 a1 released ok`},
		trial{name: "too late for a leader", want: "liveness", script: script + "20 a1 asks chief p1 lead; 2001 a1 granted 1 9900; 2002 a1 releases; 2003 a1 released ok"},
		trial{name: "somebody else in time", script: script + served("5000") + "1900 a2 asks hot p2; 1950 a2 granted 0 9900; 1960 a2 releases; 1961 a2 released ok",
			change: unfenced},
		trial{name: "somebody else at the last moment", script: script + "20 a1 asks hot p1; 5000 a1 granted 2 9900; 5001 a1 releases; 5002 a1 released ok; 20 a2 asks hot p2; 2000 a2 granted 1 9900; 2000.1 a2 releases; 2000.2 a2 released ok"},
		trial{name: "another lock in time", want: "liveness", script: script + served("5000") + "1900 a2 asks warm p2; 1950 a2 granted 2 9900; 1960 a2 releases; 1961 a2 released ok"},
		trial{name: "with a guard in time", script: "50 fault guarded began; 100 fault guarded healed;" + end + served("3000")},
		trial{name: "with a guard too late", want: "liveness", script: "50 fault guarded began; 100 fault guarded healed;" + end + served("3001")},
		trial{name: "nobody waits", script: script + "101 a1 asks hot p1; 2500 a1 granted 1 9900; 2501 a1 releases; 2502 a1 released ok"},
		trial{name: "asked at that moment", script: script + "100 a1 asks hot p1; 2500 a1 granted 1 9900; 2501 a1 releases; 2502 a1 released ok"},
		trial{name: "who waits has a deadline", script: script + "20 a1 asks hot p1 wait; 2500 a1 granted 1 9900; 2501 a1 releases; 2502 a1 released ok"},
		trial{name: "who waits gets an error", change: beyond, script: script + "20 a1 asks hot p1; 2000 a1 failed"},
		trial{name: "who waits gets an error too late", change: beyond, want: "liveness", script: script + "20 a1 asks hot p1; 2001 a1 failed"},
		trial{name: "who waits is killed", script: script + "20 a1 asks hot p1; 2000 p1 killed; 2000 p1 ended 9"},
		trial{name: "who waits is killed later", want: "liveness", script: script + "20 a1 asks hot p1; 2001 p1 killed; 2001 p1 ended 9"},
		trial{name: "who waits stands still", script: script + served("2001") + "2000 p1 stopped; 2001 p1 continued"},
		trial{name: "who waits stood still", want: "liveness", script: script + served("2001") + "50 p1 stopped; 99 p1 continued"},
		trial{name: "one of two stands still", want: "liveness", script: script + served("2001") + `
			21 a2 asks hot p2; 2050 a2 granted 2 9900; 2051 a2 releases; 2052 a2 released ok; 2000 p2 stopped; 2001 p2 continued`},
		trial{name: "another fault", script: script + served("2001") + "2000 fault cut began; 2010 fault cut healed"},
		trial{name: "another fault later", want: "liveness", script: script + served("2001") + "2000.1 fault cut began; 2010 fault cut healed"},
		trial{name: "another fault goes on", script: script + served("2001") + "40 fault flush began; 101 fault flush healed"},
		trial{name: "another fault went on", want: "liveness", script: script + served("2001") + "40 fault flush began; 99 fault flush healed"},
		trial{name: "a guard goes on", script: script + served("2001") + "40 fault guarded began; 99 fault guarded healed"},
		trial{name: "another fault heals at that moment", want: "liveness liveness", script: script + served("2001") + "40 fault flush began; 100 fault flush healed"},
		trial{name: "another fault begins at that moment", script: script + served("2001") + "100 fault flush began; 101 fault flush healed; 150 fault cut began; 4000 fault cut healed"},
		trial{name: "it does not heal", script: end + "50 fault cut began;" + served("2001")},
		trial{name: "the round ends", script: fault + "20 a1 asks hot p1; 1999 p1 killed; 1999 p1 ended 9"},
	)
}

// Somebody holds the lock when the fault has healed at 100: the time runs from when he does not any more.
func TestHealsOfHeldLocks(t *testing.T) {
	const fault = "50 fault cut began; 100 fault cut healed; 9900 inspect hot;"
	served := func(when string) string {
		return "20 a1 asks hot p1; " + when + " a1 granted 2 9900; " + when + ".1 a1 releases; " + when + ".2 a1 released ok;"
	}
	try(t,
		trial{name: "held", script: fault + served("4900") + "10 a2 asks hot p2; 11 a2 granted 1 9900; 3000 a2 releases; 3001 a2 released ok"},
		trial{name: "held and then nobody", want: "liveness", script: fault + served("4901") + "10 a2 asks hot p2; 11 a2 granted 1 9900; 3000 a2 releases; 3001 a2 released ok"},
		trial{name: "held until it was over", want: "liveness", script: fault + served("2001") + "10 a2 asks hot p2; 11 a2 granted 1 9900; 100 a2 releases; 101 a2 released ok"},
		trial{name: "held a moment longer", script: fault + served("2001") + "10 a2 asks hot p2; 11 a2 granted 1 9900; 101 a2 releases; 102 a2 released ok"},
		trial{name: "held by who is dead", want: "liveness", script: fault + served("2001") + "10 a2 asks hot p2; 11 a2 granted 1 9900; 30 p2 killed; 31 p2 ended 9"},
	)
}

// Somebody else who waits dies at 1500, 1400 ms after the fault has healed: from then on there is as much time again.
func TestHealsAfterDeaths(t *testing.T) {
	const fault = "50 fault cut began; 100 fault cut healed; 9900 inspect hot;"
	served := func(when string) string {
		return "20 a1 asks hot p1; " + when + " a1 granted 2 9900; " + when + ".1 a1 releases; " + when + ".2 a1 released ok;"
	}
	try(t,
		trial{name: "in time", script: fault + served("3400") + "30 a2 asks hot p2; 1500 p2 killed; 1500 p2 ended 9"},
		trial{name: "too late", want: "liveness", says: "in the 3300.0 ms after cut", script: fault + served("3401") + "30 a2 asks hot p2; 1500 p2 killed; 1500 p2 ended 9"},
		trial{name: "another death meanwhile", script: fault + served("5300") + `30 a2 asks hot p2; 1500 p2 killed; 1500 p2 ended 9
			1600 a3 asks hot p3; 3400 p3 killed; 3400 p3 ended 9`},
		trial{name: "another death too late", want: "liveness", script: fault + served("5300") + `30 a2 asks hot p2; 1500 p2 killed; 1500 p2 ended 9
			1600 a3 asks hot p3; 3401 p3 killed; 3401 p3 ended 9`},
		trial{name: "at the last moment", script: fault + served("3900") + "30 a2 asks hot p2; 2000 p2 killed; 2000 p2 ended 9"},
		trial{name: "before the fault had healed", want: "liveness", script: fault + served("2001") + "30 a2 asks hot p2; 99 p2 killed; 99 p2 ended 9"},
		trial{name: "who waits for another lock", want: "liveness", script: fault + served("2001") + "30 a2 asks warm p2; 1500 p2 killed; 1500 p2 ended 9"},
		trial{name: "who does not wait any more", want: "liveness", script: fault + served("2001") + "30 a2 asks hot p2 wait; 1400 a2 gaveup; 1500 p2 killed; 1500 p2 ended 9"},
	)
}

func TestHealFigures(t *testing.T) {
	f, err := Round(parse(t, `
		50 fault cut began;  100 fault cut healed;  20 a1 asks hot p1;   130 a1 granted 1 950; 140 a1 releases; 141 a1 released ok
		250 fault cut began; 300 fault cut healed;  220 a2 asks hot p1;  340 a2 granted 2 950; 350 a2 releases; 351 a2 released ok
		224 a6 asks chief p6 lead; 226 a5 asks chief p5 lead; 310 p5 killed; 310 p5 ended 9; 355 a6 granted 1 950; 356 a6 releases; 357 a6 released ok
		222 a3 asks warm p1; 390 a3 granted 3 950;  391 a3 releases; 392 a3 released ok
		360 fault flush began; 361 fault flush healed; 370 a4 asks chief p1 lead; 380 a4 granted 4 950; 381 a4 releases; 382 a4 released ok`))
	if err != nil || len(f.Violations) > 0 {
		t.Fatalf("%v, %v", f, err)
	}
	// A process that waited for the chair died before somebody got it. The third wait ended after another fault had begun, and nobody had asked for the chair when that healed.
	for _, row := range f.Rows {
		want := map[string]time.Duration{"cut": 40 * time.Millisecond, "flush": 29 * time.Millisecond}[row.Fault]
		if row.LongestHeal != want {
			t.Errorf("%s: %v, want %v", row.Fault, row.LongestHeal, want)
		}
	}
}

func TestUnserved(t *testing.T) {
	try(t,
		trial{name: "never answered", want: "liveness", says: "waited for 80.0 ms and was never served", script: "20 a1 asks hot p1; 100 round drained"},
		trial{name: "a leader never answered", want: "liveness", script: "20 a1 asks chief p1 lead; 100 round drained"},
		trial{name: "who has a deadline", script: "20 a1 asks hot p1 wait; 100 round drained"},
		trial{name: "a try", script: "20 a1 asks hot p1 try; 100 round drained"},
		trial{name: "it gave up", want: "liveness", says: "waited for 10.0 ms", script: "20 a1 asks hot p1; 30 a1 gaveup"},
		trial{name: "with a deadline it may", script: "20 a1 asks hot p1 wait; 30 a1 gaveup"},
		trial{name: "killed", script: "20 a1 asks hot p1; 30 p1 killed; 31 p1 ended 9"},
		trial{name: "ended by itself", want: "liveness", script: "20 a1 asks hot p1; 31 p1 ended 0"},
		trial{name: "stands still", script: "20 a1 asks hot p1; 31 p1 stopped"},
		trial{name: "stood still", want: "liveness", script: "20 a1 asks hot p1; 31 p1 stopped; 32 p1 continued"},
		trial{name: "answered while it drained", script: "90 round draining; 20 a1 asks hot p1; 95 a1 granted 1 900; 96 a1 releases; 97 a1 released ok; 100 round drained"},
		trial{name: "not drained", want: "liveness", says: "did not drain", script: "20 inspect hot; 90 round draining"},
		trial{name: "not drained and killed", want: "liveness",
			says:   `end; worker 1 of process 1 (attempt 1) waited for "hot" for 80.0 ms until it was killed`,
			script: "20 a1 asks hot p1; 20 a2 asks hot p2; 30 p2 killed; 30 p2 ended 9; 90 round draining; 100 p1 killed; 101 p1 ended 9"},
		trial{name: "not drained because of one", want: "liveness liveness", script: "20 a1 asks hot p1; 90 round draining"},
	)
}

func TestLeaks(t *testing.T) {
	left := func(m *history.Meta) { m.Left = []string{"hot:queue", "hot:token"} }
	try(t,
		trial{name: "nothing", script: "20 p1 rest 0 goroutines; 20 p1 rest 0 descriptors; 21 p1 ended 0; 22 round drained; 23 round leak 0"},
		trial{name: "less than at the start", script: "20 p1 rest -2 goroutines; 20 p1 rest -1 descriptors"},
		trial{name: "keys", want: "leaks", says: "2 things are left in the store: hot:queue, hot:token", change: left,
			script: "22 round drained; 23 round leak 2"},
		trial{name: "keys beyond", want: "leaks", change: beyond, script: "22 round drained; 23 round leak 2"},
		trial{name: "goroutines", want: "leaks", says: "process 1 has 3 goroutines more", script: "20 p1 rest 3 goroutines; 20 p1 rest 0 descriptors"},
		trial{name: "descriptors", want: "leaks", says: "process 1 has 1 descriptors more", script: "20 p1 rest 0 goroutines; 20 p1 rest 1 descriptors"},
		trial{name: "an error", want: "leaks", says: "process 1 ended with code 2", script: "20 p1 ended 2"},
		trial{name: "killed", script: "20 p1 killed; 21 p1 ended 137"},
		trial{name: "another one was killed", want: "leaks", script: "20 p2 killed; 21 p1 ended 137"},
	)
}
