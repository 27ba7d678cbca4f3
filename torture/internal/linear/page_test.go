package linear_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast.dev/torture/internal/generate"
	"holdfast.dev/torture/internal/history"
	"holdfast.dev/torture/internal/linear"
)

func page(t *testing.T, r linear.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Visual(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The page shows the segment that is bad, and needs nothing from elsewhere.
func TestPage(t *testing.T) {
	s := newStory()
	s.used(1, 1, 10, 20)
	s.lock = 1
	s.granted(11, 71, 10, 11, 1000)
	s.renewed(11, 71, 300, 1300)
	s.used(12, 72, 400, 410)
	s.answered(13, history.ByTry, 300, 420, history.Failed)
	s.fault(0, 350, 500)
	html := page(t, checked(t, s.history(t)))
	for _, want := range []string{"<html", "grant 71 to attempt 11", "end of 71 of attempt 11, renewed 1 times, valid until", "grant 72 to attempt 12",
		"storm", "attempt 13 may have been granted"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(html, "grant 1 to attempt 1") {
		t.Error("the page shows a lock that is in order")
	}
	if found := regexp.MustCompile(`(?i)(?:src|href)\s*=\s*["']?(?:https?:)?//|@import|url\(`).FindString(html); found != "" {
		t.Errorf("the page needs something from elsewhere: %q", found)
	}
}

// Without a violation it shows the longest.
func TestPageOfTheLongest(t *testing.T) {
	s := newStory()
	s.used(1, 1, 10, 20)
	s.lock = 1
	s.used(2, 81, 10, 20)
	s.used(3, 82, 30, 40)
	if html := page(t, checked(t, s.history(t))); !strings.Contains(html, "grant 82 to attempt 3") {
		t.Error("it is not there")
	}
	s = newStory()
	if err := checked(t, s.history(t)).Visual(new(bytes.Buffer)); err == nil {
		t.Error("a page without operations")
	}
}

// A search that does not end within the limit is a violation, and says so.
func TestUndecided(t *testing.T) {
	s := newStory()
	s.meta.Fencing = "none"
	for n := range uint64(40) { // any order of these is possible, and none of them helps against the two at the end
		s.granted(n+1, 0, 10, 2000, 500)
		s.released(n+1, 2001, 2002, history.Failed)
	}
	s.granted(100, 0, 10, 2010, 3000)
	s.granted(101, 0, 10, 2010, 3000)
	s.ends(4000)
	r, err := linear.Check(s.history(t), 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if r.Unknown != 1 || len(r.Violations) != 1 || !strings.Contains(r.Violations[0].What, "not decided within 50ms: 82 operations") {
		t.Errorf("%d undecided, %v", r.Unknown, r.Violations)
	}
}

// A violation names the fault that it was found in, and comes once, however much follows.
func TestViolation(t *testing.T) {
	s := newStory()
	s.fault(0, 5, 15)
	for i := range 200 {
		s.used(uint64(i+1), uint64(10*i+10), 20+20*i, 30+20*i)
	}
	s.used(900, 1015, 2025, 2026) // in the midst of attempt 101
	r := checked(t, s.history(t))
	if len(r.Violations) != 1 {
		t.Fatalf("%d violations: %v", len(r.Violations), r.Violations)
	}
	v := r.Violations[0]
	if v.Lock != "a" || v.Fault != "storm" || fmt.Sprint(v.Attempts) != "[900 101]" || v.At != instant(2026) {
		t.Errorf("%+v", v)
	}
	if r.Segments < 5 || r.Operations != 402 {
		t.Errorf("%d operations in %d segments", r.Operations, r.Segments)
	}
}

// One who learns late that it had the lock does not keep the others together.
func TestCuts(t *testing.T) {
	s := newStory()
	s.used(901, 1, 5, 20)
	s.granted(900, 2, 10, 3000, 1000)
	s.released(900, 3001, 3002, history.Lost)
	for i := range 200 {
		s.used(uint64(i+1), uint64(i+3), 1020+20*i, 1030+20*i)
	}
	if r := checked(t, s.history(t)); r.Segments < 10 || len(r.Violations) > 0 {
		t.Errorf("%d segments, %v", r.Segments, r.Violations)
	}
}

func TestNoHistory(t *testing.T) {
	s := newStory()
	s.released(1, 10, 11, history.OK)
	if _, err := linear.Check(s.history(t), time.Second); err == nil {
		t.Error("a release that nobody asked for is no error")
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		h := generate.Good(1, generate.Options{Operations: n})
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if r, err := linear.Check(h, time.Minute); err != nil || len(r.Violations) > 0 {
					b.Fatal(err, r.Violations)
				}
			}
		})
	}
}
