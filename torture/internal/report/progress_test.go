package report_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev/torture/internal/report"
)

func TestProgressOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		p := report.NewProgress(&b, true, func() int { return 120 })
		written := func(want string) {
			t.Helper()
			if got := b.String(); got != want {
				t.Errorf("%q\nwant %q", got, want)
			}
			b.Reset()
		}
		s := report.State{Store: "redis", Round: 1, Rounds: 60, Operations: 1000, Left: 10 * time.Minute}
		p.Update(s)
		written("\rredis round 1 of 60 · no violations · 1,000 operations · 10m00s left\x1b[K")
		time.Sleep(199 * time.Millisecond)
		s.Operations = 1100
		p.Update(s)
		written("") // too soon
		time.Sleep(801 * time.Millisecond)
		s.Operations, s.Fault = 1500, "late-reply\x1b[31m"
		p.Update(s)
		written("\rredis round 1 of 60 · no violations · 1,500 operations · 500/s · 10m00s left · fault: late-reply\\x1b[31m\x1b[K")
		s.Violations, s.Fault, s.Left = 1, "", 0
		p.Update(s) // at once
		written("\rredis round 1 of 60 · 1 VIOLATION · 1,500 operations · 500/s\x1b[K")
		s.Round++
		p.Update(s) // at once
		written("\rredis round 2 of 60 · 1 VIOLATION · 1,500 operations · 500/s\x1b[K")
		p.Note("found: %s", "a\nb")
		written("\r\x1b[Kfound: a\\nb\n")
		p.Update(s) // the line is gone: it is written again
		written("\rredis round 2 of 60 · 1 VIOLATION · 1,500 operations · 500/s\x1b[K")
		p.Done()
		written("\r\x1b[K")
		p.Done()
		written("")
	})
}

// Of late: what was fast a minute ago does not count.
func TestProgressRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		p := report.NewProgress(&b, true, nil)
		s := report.State{Store: "memory", Round: 1}
		update := func(more int) string {
			b.Reset()
			s.Operations += more
			p.Update(s)
			return b.String()
		}
		update(0)
		for range 20 {
			time.Sleep(time.Second)
			update(9000)
		}
		var last string
		for range 10 {
			time.Sleep(time.Second)
			last = update(10)
		}
		if !strings.Contains(last, " · 10/s") {
			t.Errorf("%q", last)
		}
		time.Sleep(time.Second)
		s.Operations = 0 // another store: counted anew
		if got := update(5); !strings.Contains(got, "5 operations") || strings.Contains(got, "/s") {
			t.Errorf("%q", got)
		}
		time.Sleep(time.Second)
		if got := update(70); !strings.Contains(got, " · 70/s") {
			t.Errorf("%q", got)
		}
	})
}

func TestProgressFitsTheTerminal(t *testing.T) {
	for columns, want := range map[int]string{
		1: "…", 3: "…", 22: "redis round 1 · no …", 0: "redis round 1 · no violations · 1 operation",
	} {
		var b strings.Builder
		report.NewProgress(&b, true, func() int { return columns }).Update(report.State{Store: "redis", Round: 1, Operations: 1})
		if got := b.String(); got != "\r"+want+"\x1b[K" {
			t.Errorf("%d columns: %q", columns, got)
		}
	}
}

// Elsewhere a line for each round, when it is over.
func TestProgressInAFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		p := report.NewProgress(&b, false, nil)
		p.Update(report.State{Store: "memory", Round: 1})
		for _, store := range []string{"file", "redis"} {
			for round := 1; round <= 2; round++ {
				for i := range 10 {
					p.Update(report.State{Store: store, Round: round, Operations: round*100 + i, Fault: "cut", Violations: round - 1})
				}
			}
		}
		if strings.Contains(b.String(), "redis round 2") {
			t.Error("it is told before it is over")
		}
		p.Done()
		want := "memory round 1 · no violations · 0 operations\nfile round 1 · no violations · 109 operations\nfile round 2 · 1 VIOLATION · 209 operations\n" +
			"redis round 1 · no violations · 109 operations\nredis round 2 · 1 VIOLATION · 209 operations\n"
		if b.String() != want {
			t.Errorf("%q\nwant %q", b.String(), want)
		}
	})
}

func ExampleProgress() {
	var log strings.Builder // os.Stderr, and whether it is a terminal
	p := report.NewProgress(&log, false, nil)
	p.Update(report.State{Store: "redis", Round: 1, Rounds: 60, Operations: 2_400})
	p.Done()
	fmt.Print(log.String())
	// Output: redis round 1 of 60 · no violations · 2,400 operations
}
