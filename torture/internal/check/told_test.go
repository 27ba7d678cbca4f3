package check

import (
	"testing"
	"time"
)

// A hold that is valid until 900: its holder must know at 1200.
func TestTold(t *testing.T) {
	const hold = "9900 inspect hot; 10 a1 asks hot p1; 12 a1 granted 1 900;"
	try(t,
		trial{name: "in time", script: hold + "1200 a1 told expired; 9000 a1 releases; 9001 a1 released lost"},
		trial{name: "too late", want: "told", says: "and 300.0 ms later it had not been told", script: hold + "1200.1 a1 told expired; 9000 a1 releases; 9001 a1 released lost"},
		trial{name: "too late beyond", want: "told", change: beyond, script: hold + "1200.1 a1 told expired; 9000 a1 releases; 9001 a1 released lost"},
		trial{name: "never", want: "told", script: hold + "9000 a1 releases; 9001 a1 released lost"},
		trial{name: "never and never released", want: "told", script: hold},
		trial{name: "never but released", script: hold + "1200 a1 releases; 1201 a1 released lost"},
		trial{name: "renewed", script: hold + "300 a1 renewed 1190; 1490 a1 told expired; 9000 a1 releases; 9001 a1 released lost"},
		trial{name: "renewed and too late", want: "told", script: hold + "300 a1 renewed 1190; 1491 a1 told expired; 9000 a1 releases; 9001 a1 released lost"},
		trial{name: "renewed too late", want: "told", script: hold + "1201 a1 renewed 2090; 2000 a1 releases; 2001 a1 released ok"},
		trial{name: "renewed too late twice", want: "told", script: hold + "1201 a1 renewed 2090; 2400 a1 renewed 3000; 3000 a1 releases; 3001 a1 released ok"},
		trial{name: "renewed a little late", script: hold + "1200 a1 renewed 2090; 2000 a1 releases; 2001 a1 released ok"},
		trial{name: "nothing runs out", script: "10 a1 asks hot p1; 12 a1 granted 1 never; 9999 inspect hot"},
		trial{name: "dead", script: hold + "1200 p1 killed; 1201 p1 ended 9"},
		trial{name: "dead later", want: "told", script: hold + "1201 p1 killed; 1202 p1 ended 9"},
		trial{name: "granted when it had run out", want: "told", script: "9900 inspect hot; 10 a1 asks hot p1; 1000 a1 granted 1 900; 1301 a1 told expired"},
		trial{name: "granted when it had run out and told", script: "9900 inspect hot; 10 a1 asks hot p1; 1000 a1 granted 1 900; 1300 a1 told expired"},
		trial{name: "the round ends", script: "10 a1 asks hot p1; 12 a1 granted 1 900; 1199 inspect hot"},
		trial{name: "stands still", script: hold + "800 p1 stopped; 3000 p1 continued; 3300 a1 told expired"},
		trial{name: "stands still and is told too late", want: "told", script: hold + "800 p1 stopped; 3000 p1 continued; 3301 a1 told expired"},
		trial{name: "stands still after it has run out", script: hold + "1200 p1 stopped; 3000 p1 continued; 3300 a1 told expired"},
		trial{name: "stands still after it should know", want: "told", script: hold + "1200.1 p1 stopped; 3000 p1 continued; 3300 a1 told expired"},
		trial{name: "stands still again and again", script: hold + "1000 p1 stopped; 1100 p1 continued; 1400 p1 stopped; 1500 p1 continued; 1800 a1 told expired"},
		trial{name: "stood still", want: "told", script: hold + "800 p1 stopped; 899 p1 continued; 1201 a1 told expired"},
		trial{name: "never goes on", script: hold + "800 p1 stopped"},
		trial{name: "somebody else stands still", want: "told", script: hold + "800 p2 stopped; 3000 p2 continued; 3300 a1 told expired"},
	)
}

// The store forgets the hold at 1000, and says so from 1010 on: the holder must know at 1610.
func TestForgotten(t *testing.T) {
	const (
		hold    = "9900 inspect hot; 10 a1 asks hot p1; 12 a1 granted 1 900; 300 a1 renewed 1190; 600 a1 renewed 1490; 900 a1 renewed 1790;"
		hold2nd = "9900 inspect hot; 10 a1 asks hot p1; 12 a1 granted 2 900; 300 a1 renewed 1190; 600 a1 renewed 1490; 900 a1 renewed 1790;"
		flush   = "1000 fault flush began; 1010 fault flush healed;"
		next    = "900 a2 asks hot p2; 1020 a2 granted 2 1900; 1030 a2 releases; 1031 a2 released ok;"
		late    = "1700 a1 releases; 1701 a1 released ok;"
	)
	script := hold + flush
	try(t,
		trial{name: "told in time", change: beyond, script: script + next + "1610 a1 told taken"},
		trial{name: "told too late", change: beyond, want: "told", says: "was forgotten by the store in flush, and 610.0 ms later", script: script + "1610.1 a1 told taken"},
		trial{name: "told too late within", want: "told", script: script + "1610.1 a1 told taken"},
		trial{name: "somebody else has it", change: beyond, want: "told", script: script + next + late},
		trial{name: "somebody else has it without tokens", change: unfencedTwo, want: "told", script: `
			9900 inspect hot; 10 a1 asks hot p1; 12 a1 granted 0 never; 1700 a1 releases; 1701 a1 released ok
			900 a2 asks hot p2; 1020 a2 granted 0 never; 1030 a2 releases; 1031 a2 released ok` + ";" + flush},
		trial{name: "somebody else has it with tokens that begin anew", change: volatile, want: "told", script: script + late +
			"900 a2 asks hot p2; 1020 a2 granted 0 1900; 1030 a2 releases; 1031 a2 released ok"},
		trial{name: "somebody hears late of what he had before", change: beyond, script: hold2nd + flush + `1700 a1 releases; 1701 a1 released ok
			5 a2 asks hot p2; 1020 a2 granted 1 900; 1030 a2 releases; 1031 a2 released lost`},
		trial{name: "somebody else has it when it is over", change: beyond, script: script + late + "900 a2 asks hot p2; 1700 a2 granted 2 2900; 1730 a2 releases; 1731 a2 released ok;"},
		trial{name: "renewed when it had been told", change: beyond, want: "told", script: script + "1610.1 a1 told taken; 1611 a1 renewed 2000"},
		trial{name: "its release says so", change: beyond, want: "told", script: script + "1700 a1 releases; 1701 a1 released lost"},
		trial{name: "released in time", change: beyond, script: script + next + "1610 a1 releases; 1611 a1 released lost"},
		trial{name: "run out in time", change: beyond, script: `9900 inspect hot; 10 a1 asks hot p1; 12 a1 granted 1 900; 700 a1 renewed 1590;
			1800 a1 told expired;` + flush + next},
		trial{name: "not forgotten", change: beyond, script: script + late},
		trial{name: "somebody else has it later", change: beyond, script: script + late + "900 a2 asks hot p2; 1800 a2 granted 2 2900; 1830 a2 releases; 1831 a2 released ok;"},
		trial{name: "renewed afterwards", change: beyond, script: script + "1110.1 a1 renewed 2000; 1900 a1 told taken"},
		trial{name: "renewed just before", change: beyond, want: "told", script: script + "1110 a1 renewed 2000; 1900 a1 told taken"},
		trial{name: "another one renewed afterwards", change: beyond, want: "told",
			script: script + "1010 a3 asks hot p1; 1020 a3 granted 3 1900; 1300 a3 renewed 2000; 1350 a3 releases; 1351 a3 released ok; 1750 a1 told taken"},
		trial{name: "another fault", change: beyond, script: script + next + late + "1600 fault cut began; 1601 fault cut healed"},
		trial{name: "another fault at the last moment", change: beyond, script: script + next + late + "1610 fault cut began; 1612 fault cut healed"},
		trial{name: "another fault until then", change: beyond, script: script + next + late + "500 fault cut began; 1000 fault cut healed"},
		trial{name: "another fault before", change: beyond, want: "told", script: script + next + late + "500 fault cut began; 999 fault cut healed"},
		trial{name: "granted at that moment", change: beyond, want: "told", script: flush + `9900 inspect hot; 10 a1 asks hot p1; 1000 a1 granted 1 1890
			1700 a1 releases; 1701 a1 released lost`},
		trial{name: "granted afterwards", change: beyond, script: flush + `9900 inspect hot; 10 a1 asks hot p1; 1000.1 a1 granted 1 1890
			1700 a1 releases; 1701 a1 released lost`},
		trial{name: "another fault later", change: beyond, want: "told", script: script + next + late + "1611 fault cut began; 1612 fault cut healed"},
		trial{name: "a fault that forgets nothing", change: beyond, script: hold + next + late + "1000 fault cut began; 1010 fault cut healed"},
		trial{name: "stands still", change: beyond, script: script + "1500 p1 stopped; 1600 p1 continued; 1790 a1 told taken"},
		trial{name: "stands still later", change: beyond, want: "told", script: script + "1611 p1 stopped; 1650 p1 continued; 1790 a1 told taken"},
		trial{name: "dead", change: beyond, script: script + next + "1610 p1 killed; 1611 p1 ended 9"},
		trial{name: "it held before", change: beyond, script: flush + "9900 inspect hot; 10 a1 asks hot p1; 12 a1 granted 1 900; 1000 a1 releases; 1001 a1 released lost"},
		trial{name: "the store is still away", change: beyond, script: hold + "1000 fault flush began; 1020 fault flush healed; 1620 a1 told taken"},
		trial{name: "the store never comes back", change: beyond, script: hold + "1000 fault flush began; 1780 a1 told taken"},
		trial{name: "the round ends", change: beyond, script: flush + "10 a1 asks hot p1; 12 a1 granted 1 900; 900 a1 renewed 1790; 1609 p2 ended 0;" + next},
	)
}

func TestToldFigures(t *testing.T) {
	const hold = "10 a1 asks hot p1; 12 a1 granted 1 900; 900 a1 renewed 1790; 1200 a1 told taken; 1201 a1 releases; 1202 a1 released lost;"
	for name, c := range map[string]struct {
		script string
		want   time.Duration
	}{
		"told":               {"1000 fault flush began; 1010 fault flush healed", 200 * time.Millisecond},
		"told in another":    {"1000 fault flush began; 1010 fault flush healed; 1100 fault cut began; 1101 fault cut healed", 0},
		"told of nothing":    {"1000 fault cut began; 1010 fault cut healed", 0},
		"renewed in between": {"1000 fault flush began; 1010 fault flush healed; 1150 a1 renewed 2000", 0},
		"told before":        {"1300 fault flush began; 1310 fault flush healed", 0},
	} {
		f, err := Round(parse(t, hold+c.script, beyond))
		if err != nil || len(f.Violations) > 0 {
			t.Fatalf("%s: %v, %v", name, f, err)
		}
		longest := time.Duration(0)
		for _, row := range f.Rows {
			longest = max(longest, row.LongestTold)
		}
		if longest != c.want {
			t.Errorf("%s: %v, want %v", name, longest, c.want)
		}
	}
}
