package report

import (
	"testing"
	"time"
)

func TestNumbers(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 123456: "123,456", 1234567: "1,234,567", -4321: "-4,321", -100: "-100"} {
		if got := number(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	if counted(1, "hold", "holds") != "1 hold" || counted(0, "hold", "holds") != "0 holds" {
		t.Error("counted")
	}
}

func TestTimes(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: nothing, -1: nothing, 1: "<0.1", 100 * time.Microsecond: "0.1", 9949 * time.Microsecond: "9.9", 9950 * time.Microsecond: "10", 1234 * time.Millisecond: "1,234",
	} {
		if got := ms(d); got != want {
			t.Errorf("%v: %s ms, want %s", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		-1: "0s", 0: "0s", 1: "0.1s", 340 * time.Millisecond: "0.3s", 9960 * time.Millisecond: "10s", 59600 * time.Millisecond: "1m00s", 200 * time.Second: "3m20s",
		time.Hour - 1: "1h00m", 50*time.Hour + 5*time.Minute: "50h05m",
	} {
		if got := lasting(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"a b": "a b", "日本 é": "日本 é", "\x1b[K": `\x1b[K`, "\n\r": `\n\r`, "\u202e": `\u202e`, "\x9b": `\x9b`, "\u00a0": `\u00a0`, `\'`: `\'`, "�": "�",
	} {
		if got := line(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestWidth(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"abcdef", 0, "abcdef"}, {"abcdef", 6, "abcdef"}, {"abcdef", 5, "abcd…"}, {"abcdef", 1, "…"}, {"日本語", 6, "日本語"}, {"日本語", 5, "日本…"},
		{"e\u0301e\u0301", 2, "e\u0301e\u0301"}, {"👍👍", 3, "👍…"},
	} {
		if got := cut(c.text, c.most); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text, indent string
		columns      int
		want         string
	}{
		{"one two three", "", 7, "one two\nthree\n"}, {"one two three", "  ", 7, "  one\n  two\n  three\n"}, {"one  two", "", 0, "one two\n"},
		{"averylongword a", "", 5, "averylongword\na\n"}, {"", "  ", 5, "\n"},
	} {
		if got := wrap(c.text, c.indent, c.columns); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

func TestShell(t *testing.T) {
	for word, want := range map[string]string{
		"bundles/redis-7": "bundles/redis-7", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "~": "'~'", "ä": "'ä'",
	} {
		if got := shell(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}
