package report

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"holdfast.dev/torture/internal/check"
)

// A State is where a run is.
type State struct {
	Store      string
	Round      int    // of this store, from 1
	Rounds     int    // how many there will be; 0: not known
	Fault      string // that is active now; "": none
	Operations int    // so far
	Violations int    // so far
	Left       time.Duration
}

// often is how long a line stays on a terminal at least, and rating how far back ops/s looks.
const (
	often  = 200 * time.Millisecond
	rating = 5 * time.Second
)

// A Progress shows where a run is: on a terminal a line that is rewritten in place, elsewhere a line for each round. It may be used by
// many goroutines.
type Progress struct {
	terminal bool
	columns  func() int

	mu      sync.Mutex
	out     io.Writer
	last    State
	began   bool // there is a last
	written time.Time
	onLine  bool // a line is on the terminal
	samples []sample
}

// A sample is how many operations there were at a time.
type sample struct {
	at         time.Time
	operations int
}

// NewProgress shows progress on w. On a terminal that has so many columns; nil or 0: not known, and nothing is cut.
func NewProgress(w io.Writer, terminal bool, columns func() int) *Progress {
	if columns == nil {
		columns = func() int { return 0 }
	}
	return &Progress{out: w, terminal: terminal, columns: columns}
}

// Update says where the run is. It may be called as often as one likes: what comes too soon after the last is not shown, unless there is
// a new round or a violation in it.
func (p *Progress) Update(s State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	next := !p.began || s.Store != p.last.Store || s.Round != p.last.Round
	urgent := next || s.Violations > p.last.Violations
	if !p.terminal && p.began && next {
		p.writeLine(p.last)
	}
	if p.began && s.Operations < p.last.Operations {
		p.samples = nil // another count has begun
	}
	p.last, p.began = s, true
	p.sample(now)
	if p.terminal && (urgent || now.Sub(p.written) >= often) {
		p.written = now
		p.onLine = true
		io.WriteString(p.out, "\r"+cut(line(p.show(s)), p.room())+wipeRight)
	}
}

// Note prints a message of one line, above the line of the state.
func (p *Progress) Note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
	io.WriteString(p.out, line(fmt.Sprintf(format, args...))+"\n")
}

// Done ends it: the line is wiped from a terminal, and elsewhere that of the last round is written. The reader sees the report next.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
	if !p.terminal && p.began {
		p.writeLine(p.last)
	}
	p.began, p.samples = false, nil
}

// wipeRight wipes the rest of the line.
const wipeRight = "\x1b[K"

func (p *Progress) wipe() {
	if p.onLine {
		io.WriteString(p.out, "\r"+wipeRight)
		p.onLine, p.written = false, time.Time{} // the next state is shown at once
	}
}

// room is how long a line may be. It stays short of the edge: some characters are wider on some terminals.
func (p *Progress) room() int {
	if columns := p.columns(); columns > 0 {
		return max(1, columns-2)
	}
	return 0
}

func (p *Progress) writeLine(s State) {
	s.Fault = "" // it is over
	io.WriteString(p.out, line(p.show(s))+"\n")
}

// sample remembers the count of now, and forgets those that are too old, but for the last of them.
func (p *Progress) sample(now time.Time) {
	if n := len(p.samples); n == 0 || now.Sub(p.samples[n-1].at) >= often {
		p.samples = append(p.samples, sample{now, p.last.Operations})
	}
	for len(p.samples) > 2 && now.Sub(p.samples[1].at) >= rating {
		p.samples = p.samples[1:]
	}
}

// rate is the operations per second of late; −1: not known yet.
func (p *Progress) rate() float64 {
	if len(p.samples) < 2 {
		return -1
	}
	first, last := p.samples[0], p.samples[len(p.samples)-1]
	return float64(last.operations-first.operations) / last.at.Sub(first.at).Seconds()
}

// show is the line of a state, what matters most first: a narrow terminal cuts its end off.
func (p *Progress) show(s State) string {
	round := fmt.Sprintf("%s round %s", s.Store, number(s.Round))
	if s.Rounds > 0 {
		round += " of " + number(s.Rounds)
	}
	parts := []string{round}
	if s.Violations > 0 {
		parts = append(parts, strings.ToUpper(counted(s.Violations, "violation", "violations")))
	} else {
		parts = append(parts, "no violations")
	}
	parts = append(parts, counted(s.Operations, "operation", "operations"))
	if rate := p.rate(); rate >= 0 {
		parts = append(parts, number(int(rate+0.5))+"/s")
	}
	if s.Left > 0 {
		parts = append(parts, lasting(s.Left)+" left")
	}
	if s.Fault != "" && s.Fault != check.NoFault {
		parts = append(parts, "fault: "+s.Fault)
	}
	return strings.Join(parts, " · ")
}
