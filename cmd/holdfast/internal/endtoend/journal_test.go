//go:build linux

package endtoend_test

import (
	"bytes"
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// An entry is a line of the journal: what an actor saw, and when.
type entry struct {
	at    time.Duration // CLOCK_BOOTTIME
	pid   int
	run   string
	event string
}

// journal is what the actors have written so far.
func (w *world) entries() []entry {
	w.t.Helper()
	text, err := os.ReadFile(w.journal)
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1] // the rest is being written
	var all []entry
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
		if len(fields) != 4 {
			w.t.Fatalf("the journal has the line %q", line)
		}
		at, err1 := strconv.ParseInt(fields[0], 10, 64)
		pid, err2 := strconv.Atoi(fields[1])
		if err := cmp.Or(err1, err2); err != nil {
			w.t.Fatalf("the journal has the line %q: %v", line, err)
		}
		all = append(all, entry{time.Duration(at), pid, fields[2], fields[3]})
	}
	return all
}

// saw is how often a run's actors wrote this.
func (w *world) saw(run, event string) int {
	w.t.Helper()
	n := 0
	for _, e := range w.entries() {
		if e.run == run && e.event == event {
			n++
		}
	}
	return n
}

// await waits until a run's actors have written this so often.
func (w *world) await(run, event string, times int) {
	w.t.Helper()
	until(w.t, "the actors of "+run+" write "+event, func() bool { return w.saw(run, event) >= times })
}

// cast waits until a run has so many actors, and returns them in the order in which they began: the command first.
func (w *world) cast(run string, n int) []process {
	w.t.Helper()
	w.await(run, "start", n)
	var all []process
	for _, e := range w.entries() {
		if e.run == run && e.event == "start" {
			all = append(all, process{e.pid})
		}
	}
	return all
}

// programOf waits for a run's command, and returns the program that runs it, and the command.
func (w *world) programOf(run string) (program, command process) {
	w.t.Helper()
	command = w.cast(run, 1)[0]
	program = process{command.parent()}
	if args := program.args(); len(args) < 2 || args[1] != "run" {
		w.t.Fatalf("the command's parent is %v; want holdfast run", program)
	}
	return program, command
}

// events is everything that one actor wrote but its beats.
func (w *world) events(p process) []string {
	w.t.Helper()
	var all []string
	for _, e := range w.entries() {
		if e.pid == p.pid && e.event != "beat" {
			all = append(all, e.event)
		}
	}
	return all
}

// apart fails the test unless the lives of different runs' actors, as far as the journal shows them, do not overlap: those of the
// runs that are named, or of all.
func (w *world) apart(runs ...string) {
	w.t.Helper()
	type life struct {
		run         string
		first, last time.Duration
	}
	lives := make(map[string]*life)
	for _, e := range w.entries() {
		if len(runs) > 0 && !slices.Contains(runs, e.run) {
			continue
		}
		l := lives[e.run]
		if l == nil {
			l = &life{e.run, e.at, e.at}
			lives[e.run] = l
		}
		l.first, l.last = min(l.first, e.at), max(l.last, e.at)
	}
	var order []*life
	for _, l := range lives {
		order = append(order, l)
	}
	slices.SortFunc(order, func(a, b *life) int { return cmp.Compare(a.first, b.first) })
	for i := 1; i < len(order); i++ {
		if before, after := order[i-1], order[i]; after.first < before.last {
			w.t.Errorf("%s began %v before the last sign of life of %s", after.run, before.last-after.first, before.run)
		}
	}
}

// A journal in which two lived at once is found out.
func TestApart(t *testing.T) {
	for text, want := range map[string]bool{
		"1 10 a start\n3 10 a beat\n4 11 b start\n9 11 b beat\n":           true,
		"1 10 a start\n5 10 a beat\n4 11 b start\n9 11 b beat\n":           false,
		"4 11 b start\n1 10 a start\n9 11 b beat\n3 10 a beat\n8 12 a x\n": false,
	} {
		inner := new(testing.T)
		w := &world{t: inner, journal: t.TempDir() + "/journal"}
		if err := os.WriteFile(w.journal, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if w.apart(); inner.Failed() == want {
			t.Errorf("%q: failed %t", text, inner.Failed())
		}
	}
}
