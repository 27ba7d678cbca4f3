// Package say prints for people. What it prints is harmless: names, labels and errors come from strangers, and a terminal obeys
// escape sequences.
//
// Everything that is not printable is shown as Go would write it in a string literal: control characters of both kinds (C0, C1, DEL),
// format characters (those that turn the direction of writing too), characters that show nothing, and bytes that are not UTF-8.
//
//   - [Harmless] is for a text of several lines, [Line] for one that must stay on one line.
//   - [Name] is for names and labels: two that differ look different, so it quotes where it had to change something.
//   - [JSON] writes values for programs, on a terminal just as harmless.
//   - A [Voice] prints messages, and a status line that is rewritten in place.
package say

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Harmless escapes what is not printable, but for line ends.
func Harmless(s string) string {
	return escape(s, func(r rune) bool { return r == '\n' || visible(r) })
}

// Line escapes what is not printable, line ends too.
func Line(s string) string { return escape(s, visible) }

// Name shows a name or a label so that two that differ in what cannot be seen never look alike: as it is where everything in it can be seen, otherwise in
// quotes, with backslashes and quotes escaped as well: what stands in quotes is a string literal of Go.
func Name(s string) string {
	plain := s != "" && utf8.ValidString(s) && s[0] != '"' && s == strings.TrimSpace(s) && !strings.Contains(s, "  ")
	if plain && strings.IndexFunc(s, func(r rune) bool { return !visible(r) }) < 0 {
		return s
	}
	return Quote(s)
}

// Quote shows a name in quotes whatever is in it, for use inside a sentence.
func Quote(s string) string {
	quoted := escape(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s), visible)
	return `"` + quoted + `"`
}

// escape writes what does not pass as Go would.
func escape(s string, passes func(rune) bool) string {
	clean := func(r rune) bool { return passes(r) && r != utf8.RuneError }
	if strings.IndexFunc(s, func(r rune) bool { return !clean(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			hex(&b, `\x`, uint32(s[i]), 2)
		case passes(r):
			b.WriteRune(r)
		default:
			escapeRune(&b, r)
		}
		i += n
	}
	return b.String()
}

func escapeRune(b *strings.Builder, r rune) {
	if i := strings.IndexRune("\a\b\f\n\r\t\v", r); i >= 0 {
		b.WriteString(`\` + `abfnrtv`[i:i+1])
		return
	}
	switch {
	case r < utf8.RuneSelf:
		hex(b, `\x`, uint32(r), 2)
	case r <= 0xffff:
		hex(b, `\u`, uint32(r), 4)
	default:
		hex(b, `\U`, uint32(r), 8)
	}
}

func hex(b *strings.Builder, prefix string, n uint32, digits int) {
	b.WriteString(prefix)
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		b.WriteByte("0123456789abcdef"[n>>shift&15])
	}
}

// visible reports whether a reader can see r, and the terminal does nothing but show it.
func visible(r rune) bool { return unicode.IsPrint(r) && (r < 0x300 || !unicode.Is(blank, r)) }

// blank are characters that count as letters, marks or symbols but show nothing: joiners, fillers, variation selectors.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x034f, Hi: 0x034f, Stride: 1}, {Lo: 0x115f, Hi: 0x1160, Stride: 1}, {Lo: 0x17b4, Hi: 0x17b5, Stride: 1},
		{Lo: 0x180b, Hi: 0x180f, Stride: 1}, {Lo: 0x2800, Hi: 0x2800, Stride: 1}, {Lo: 0x3164, Hi: 0x3164, Stride: 1},
		{Lo: 0xfe00, Hi: 0xfe0f, Stride: 1}, {Lo: 0xffa0, Hi: 0xffa0, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0xe0000, Hi: 0xe0fff, Stride: 1}},
}
