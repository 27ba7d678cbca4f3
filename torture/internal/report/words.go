package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// number shows a count with commas: 1,234,567.
func number(n int) string {
	digits := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// counted is a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// nothing stands where nothing was measured: a 0 would say that something was.
const nothing = "–"

// ms shows a length of time in milliseconds, without the unit. What is there is never shown as 0.
func ms(d time.Duration) string {
	switch t := float64(d) / float64(time.Millisecond); {
	case d <= 0:
		return nothing
	case t < 0.1:
		return "<0.1"
	case t < 9.95:
		return strconv.FormatFloat(t, 'f', 1, 64)
	default:
		return number(int(t + 0.5))
	}
}

// lasting shows how long something took, or will take: 0.3s, 12s, 3m20s, 2h05m.
func lasting(d time.Duration) string {
	switch s := d.Round(time.Second); {
	case d <= 0:
		return "0s"
	case d < 9950*time.Millisecond:
		return fmt.Sprintf("%.1fs", max(0.1, d.Seconds())) // what is there is not shown as nothing
	case s < time.Minute:
		return fmt.Sprintf("%ds", s/time.Second)
	case s < time.Hour:
		return fmt.Sprintf("%dm%02ds", s/time.Minute, s%time.Minute/time.Second)
	default:
		return fmt.Sprintf("%dh%02dm", s/time.Hour, s%time.Hour/time.Minute)
	}
}

// line makes a text harmless for a terminal, and keeps it on one line: what is not printable is shown as Go would write it.
func line(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		s = s[n:]
	}
	return b.String()
}

// width is how many columns s takes on a terminal.
func width(s string) int {
	n := 0
	for _, r := range s {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul), r >= 0x1f300 && r <= 0x1faff:
		return 2
	}
	return 1
}

// cut shortens s to columns, with … at its end if something was cut off. 0: any length will do.
func cut(s string, columns int) string {
	if columns <= 0 || width(s) <= columns {
		return s
	}
	used := 0
	for i, r := range s {
		if used += columnsOf(r); used > columns-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// wrap breaks a paragraph into lines of up to columns, each behind indent. A word that is longer stays whole: it may be a path.
func wrap(text, indent string, columns int) string {
	var b strings.Builder
	used := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case used == 0:
			b.WriteString(indent)
			used = width(indent)
		case columns > 0 && used+1+width(word) > columns:
			b.WriteString("\n" + indent)
			used = width(indent)
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += width(word)
	}
	return b.String() + "\n"
}

// shell quotes a word so that a POSIX shell takes it as it is.
func shell(s string) string {
	plain := func(r rune) bool {
		return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("/._-+:,@%=", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
