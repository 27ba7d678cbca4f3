// Package say prints for people. What it prints is harmless: names, labels and errors come from strangers, and a terminal obeys
// escape sequences.
package say

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
)

// A Voice prints messages, a line each, on standard error.
type Voice struct {
	mu  sync.Mutex
	out io.Writer
}

// New makes a Voice that prints to out.
func New(out io.Writer) *Voice { return &Voice{out: out} }

// Printf prints one message. What is not printable in it is escaped, but for line ends.
func (v *Voice) Printf(format string, args ...any) {
	text := Harmless(fmt.Sprintf("holdfast: "+format, args...))
	v.mu.Lock()
	defer v.mu.Unlock()
	io.WriteString(v.out, strings.TrimRight(text, "\n")+"\n")
}

// Harmless escapes what is not printable, but for line ends.
func Harmless(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '\n' || unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
