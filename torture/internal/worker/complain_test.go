package worker

import (
	"errors"
	"strings"
	"testing"
)

func TestComplaintsEnd(t *testing.T) {
	var said strings.Builder
	c := complaints{to: &said}
	for range mostLines + 50 {
		c.add(91, 91<<32|8, "warm/f", errors.New("no\nmemory"))
	}
	lines := strings.Split(strings.TrimSuffix(said.String(), "\n"), "\n")
	if len(lines) != mostLines {
		t.Fatalf("%d lines, want %d", len(lines), mostLines)
	}
	for i, line := range lines {
		want := "process 91 attempt 8 lock warm/f: no memory"
		if i == mostLines-1 {
			want = "process 91: more errors than these 199, which are not told"
		}
		if line != want {
			t.Errorf("line %d: %q, want %q", i+1, line, want)
		}
	}
}

func TestOnOneLine(t *testing.T) {
	long := strings.Repeat("ü", mostLetters)
	for text, want := range map[string]string{
		"":                  "",
		"as it is: ü":       "as it is: ü",
		"a\r\nb\tc\x1b[31m": "a  b c [31m",
		"broken \xff":       "broken \ufffd",
		long:                long,
		long + "x":          strings.Repeat("ü", mostLetters-1) + "…",
	} {
		if got := onOneLine(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
