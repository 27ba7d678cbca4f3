package say

import (
	"strings"
	"unicode"
)

// Cut shortens s to width columns of a terminal, with … at its end if something was cut off. 0: any length will do.
func Cut(s string, width int) string {
	if width <= 0 || Width(s) <= width {
		return s
	}
	used := 0
	for i, r := range s {
		if used += columns(r); used > width-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// Pad adds spaces to s until it has width columns.
func Pad(s string, width int) string { return s + strings.Repeat(" ", max(0, width-Width(s))) }

// Width is how many columns s takes on a terminal.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += columns(r)
	}
	return n
}

// columns is how many columns a character takes: none for what is put on top of another, two for the wide ones of East Asia and for
// emoji. Terminals differ a little: what is shown in place is kept a few columns short, for that too.
func columns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115f, Stride: 1}, {Lo: 0x2e80, Hi: 0x303e, Stride: 1}, {Lo: 0x3041, Hi: 0xa4cf, Stride: 1},
		{Lo: 0xa960, Hi: 0xa97f, Stride: 1}, {Lo: 0xac00, Hi: 0xd7a3, Stride: 1}, {Lo: 0xf900, Hi: 0xfaff, Stride: 1},
		{Lo: 0xfe30, Hi: 0xfe6f, Stride: 1}, {Lo: 0xff00, Hi: 0xff60, Stride: 1}, {Lo: 0xffe0, Hi: 0xffe6, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0x1f300, Hi: 0x1f64f, Stride: 1}, {Lo: 0x1f680, Hi: 0x1faff, Stride: 1}, {Lo: 0x20000, Hi: 0x3fffd, Stride: 1}},
}
