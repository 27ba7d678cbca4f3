// Package waiting tells whoever waits for a lock who has it.
//
// A store that has just started may grant nothing for a while, the guard. That is told at once, with a terminal or without, in one
// plain line for each lock: whoever tries a new server must not take it for broken.
//
// Nothing else is said about a wait of less than a second. Then:
//
//   - On a terminal there is a status line, rewritten in place every second, and wiped when the wait is over. On a dumb terminal, and
//     while the program is in the background, where the line is somebody else's, it is a plain line every minute.
//   - Without a terminal there is one plain line for each lock that is waited for, if the user asked for it (verbose).
//   - A store that gives no answer is worth a line in any case, once for each new problem.
//
// A quiet Voice says none of it.
//
// An Observer must not block, and standard error may: a pipe that nobody reads, a terminal after ^S. So a goroutine prints, and
// Observe only leaves the news. It begins with the first news and ends with Done, which waits for what is being printed at that
// moment: the lock is held by then, and what follows on the terminal is the command's. But it does not wait for ever.
package waiting

import (
	"context"
	"sync"
	"time"

	"holdfast.dev"
	"holdfast.dev/cmd/holdfast/internal/say"
)

const (
	patience = time.Second // a wait shorter than this is not worth a word
	every    = time.Second // between two looks of the status line
	rarely   = time.Minute // between two plain lines
	lastWord = time.Second // how long Done waits for a terminal that does not take what is printed
)

// A screen is what a terminal tells about itself.
type screen interface {
	Width() int
	InPlace() bool
}

// A Display is an Observer that shows how a wait goes.
type Display struct {
	voice   *say.Voice
	verbose bool
	screen  screen // nil: there is no terminal

	mu       sync.Mutex
	begun    bool
	over     bool
	wait     *wait   // what is waited for now; nil: nothing
	problems []error // not printed yet
	lastSaid string  // the last problem, as it is compared

	news  chan struct{} // has an element when there is something new
	quit  chan struct{} // closed by Done
	ended chan struct{} // closed when the goroutine has printed its last
}

// A wait is one lock that is waited for.
type wait struct {
	key   key
	since time.Time
	seen  time.Time // when this was so
	holdfast.Progress
}

// key tells locks apart: the semaphore of a name is not its lock.
type key struct {
	name    string
	permits bool
}

func keyOf(e holdfast.Event) key { return key{e.Name, e.Mode == holdfast.Permits} }

// New makes a Display that prints by voice. Without a terminal it tells about waiting only if it is verbose.
func New(voice *say.Voice, verbose bool) *Display {
	if terminal, ok := voice.Terminal(); ok {
		return newDisplay(voice, verbose, terminal)
	}
	return newDisplay(voice, verbose, nil)
}

func newDisplay(voice *say.Voice, verbose bool, screen screen) *Display {
	return &Display{
		voice: voice, verbose: verbose, screen: screen,
		news: make(chan struct{}, 1), quit: make(chan struct{}), ended: make(chan struct{}),
	}
}

// Observe takes news. It does not block.
func (d *Display) Observe(_ context.Context, e holdfast.Event) {
	if d.voice.Quiet() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over || !d.note(e) {
		return
	}
	if !d.begun {
		d.begun = true
		go d.print()
	}
	select {
	case d.news <- struct{}{}:
	default:
	}
}

// note keeps what is new, and reports whether something is.
func (d *Display) note(e holdfast.Event) bool {
	switch e.Kind {
	case holdfast.EventWaiting:
		now := time.Now()
		if d.wait == nil || d.wait.key != keyOf(e) {
			d.wait = &wait{key: keyOf(e), since: now.Add(-e.Waited)}
		}
		d.wait.seen, d.wait.Progress = now, e.Progress
		d.lastSaid = "" // the store answers again: the next problem is a new one
		return true
	case holdfast.EventAcquired, holdfast.EventFailed:
		if d.wait == nil || d.wait.key != keyOf(e) {
			return false
		}
		d.wait = nil
		return true
	case holdfast.EventRetried:
		text := kindOf(e.Err)
		if text == d.lastSaid {
			return false
		}
		d.lastSaid = text
		d.problems = append(d.problems, e.Err)
		return true
	}
	return false
}

// Done ends the display: what was shown in place is wiped, and nothing is printed any more. Calling it again does nothing. Should
// standard error not take what is being printed, Done waits a second for it, and then leaves it.
func (d *Display) Done() {
	d.mu.Lock()
	first, begun := !d.over, d.begun
	d.over = true
	d.mu.Unlock()
	if !first || !begun {
		return
	}
	close(d.quit)
	late := time.NewTimer(lastWord)
	defer late.Stop()
	select {
	case <-d.ended:
	case <-late.C:
	}
}
