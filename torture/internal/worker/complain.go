package worker

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
)

// A history says that a call has failed, and nothing about why: it has no room for texts. So why is said on standard error, which the
// controller keeps as the log of the round: one line for each, with the numbers that the attempt has in a violation. The errors of a lock have
// no secrets in them.
const (
	mostLines   = 200 // of a process: a store that is out of order fails thousands of times for the same reason
	mostLetters = 500 // of a line
)

// complaints are what a process has said so far.
type complaints struct {
	mu    sync.Mutex
	to    io.Writer
	lines int
}

// add says why a call has failed. The last line that a process has says that there is more.
func (c *complaints) add(process uint32, attempt uint64, lock string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.lines++; {
	case c.lines < mostLines:
		fmt.Fprintf(c.to, "process %d attempt %d lock %s: %s\n", process, attempt&(1<<32-1), lock, onOneLine(err.Error()))
	case c.lines == mostLines:
		fmt.Fprintf(c.to, "process %d: more errors than these %d, which are not told\n", process, mostLines-1)
	}
}

// onOneLine makes a text of whatever length and letters one line that a terminal can show.
func onOneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	if letters := []rune(text); len(letters) > mostLetters {
		text = string(letters[:mostLetters-1]) + "…"
	}
	return text
}
