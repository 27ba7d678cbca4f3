package say

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
)

// A Voice prints messages, a line each, on standard error, and at most one status line below them. It may be used from many
// goroutines.
type Voice struct {
	mu     sync.Mutex // held while out is written to, which may block
	out    io.Writer
	status bool // a status line is on the screen

	quiet atomic.Bool // not under mu: who asks does not wait for out
}

// prefix is how every message begins.
const prefix = "holdfast: "

// New makes a Voice that prints to out.
func New(out io.Writer) *Voice { return &Voice{out: out} }

// SetQuiet makes Notef print nothing.
func (v *Voice) SetQuiet(quiet bool) { v.quiet.Store(quiet) }

// Quiet reports whether Notef prints nothing. It never blocks.
func (v *Voice) Quiet() bool { return v.quiet.Load() }

// Printf prints one message: something went wrong. What is not printable in it is escaped. Only format itself may break lines: a line
// end in an argument is escaped too, so that nobody can forge a message of ours.
func (v *Voice) Printf(format string, args ...any) {
	for i, arg := range args {
		if _, isWidth := arg.(int); !isWidth { // an int may be the * of %*d
			args[i] = oneLine{arg}
		}
	}
	text := Harmless(fmt.Sprintf(prefix+format, args...))
	v.mu.Lock()
	defer v.mu.Unlock()
	v.write(strings.TrimRight(text, "\n") + "\n")
}

// Text prints a text of several lines as it is, but harmless.
func (v *Voice) Text(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.write(Harmless(text))
}

// Notef prints one message that is good to know, unless the Voice is quiet.
func (v *Voice) Notef(format string, args ...any) {
	if !v.Quiet() {
		v.Printf(format, args...)
	}
}

// Status shows text, cut to width columns (0: not cut), in place of the status line; "" wipes it. Only for a terminal.
func (v *Voice) Status(text string, width int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if text == "" {
		v.write("")
		return
	}
	io.WriteString(v.out, "\r"+Cut(Line(text), width)+wipeRight)
	v.status = true
}

// Forget leaves the status line where it is: it is on the screen no longer, or other things stand below it.
func (v *Voice) Forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.status = false
}

// wipeRight wipes the rest of the line: every terminal but a dumb one knows it.
const wipeRight = "\x1b[K"

// write prints in the place of the status line, if there is one.
func (v *Voice) write(text string) {
	if v.status {
		text, v.status = "\r"+wipeRight+text, false
	}
	if text != "" {
		io.WriteString(v.out, text)
	}
}

// oneLine prints what it wraps on one line.
type oneLine struct{ what any }

// Format prints as the verb says. The parts of a joined error stand on lines of their own: here behind each other; and errors of the
// library begin as our messages do.
func (l oneLine) Format(f fmt.State, verb rune) {
	text := fmt.Sprintf(fmt.FormatString(f, verb), l.what)
	if _, isError := l.what.(error); isError {
		text = strings.ReplaceAll(strings.TrimPrefix(text, prefix), "\n", "; ")
	}
	io.WriteString(f, Line(text))
}
