package recovery

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTable: one row for each case and timing, with medians and spreads; losses are not mixed with renewals.
func TestTable(t *testing.T) {
	first, second := Case{Name: "a", Title: "first"}, Case{Name: "b", Title: "second"}
	guard := Timing{Name: "10s", TTL: 5 * time.Second}
	outcome := func(c Case, acquired time.Duration, lost string) *Outcome {
		return &Outcome{Case: c, Timing: guard, Guard: 10 * time.Second, Primary: time.Second, Acquired: acquired,
			Renewed: acquired / 2, Lost: lost}
	}
	rows := Table([]*Outcome{
		outcome(first, 12*time.Second, ""), outcome(second, 20*time.Second, "expired"),
		outcome(first, 14*time.Second, "expired"), outcome(first, 11*time.Second, ""),
		{Case: second, Timing: Timing{Name: "off", TTL: time.Second}},
	})
	want := []string{
		"first|10 s|5 s|1.00 s (1.00…1.00)|12.00 s (11.00…14.00)|2.00 s (1.00…4.00)|2× renewed after 5.75 s (5.50…6.00); 1× lost (expired) after 7.00 s",
		"second|10 s|5 s|1.00 s|20.00 s|10.00 s|lost (expired) after 10.00 s",
		"second|off|1 s|0.00 s|0.00 s|0.00 s|renewed after 0.00 s",
	}
	var got []string
	for _, row := range rows[1:] {
		if len(row) != len(rows[0]) {
			t.Errorf("%d cells below %d titles", len(row), len(rows[0]))
		}
		got = append(got, strings.Join(row, "|"))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestTimings: a guard has room for its TTL, and with replicas for the fence, which is what the name of the shortest says.
func TestTimings(t *testing.T) {
	for _, timing := range Timings() {
		lag := 2 * time.Second
		if timing.MaxLag > 0 {
			lag = min(lag, time.Duration(timing.MaxLag)*time.Second)
		}
		alone, replicated := timing.Alone-timing.TTL, timing.Guard-timing.TTL-lag-2*time.Second
		switch {
		case timing.Name == "off" && timing.Alone == 0 && timing.Guard == 0:
		case timing.Name == "shortest" && (alone != 0 || replicated != 0), alone < 0, replicated < 0:
			t.Errorf("%+v leaves %v, with replicas %v", timing, alone, replicated)
		}
	}
}
