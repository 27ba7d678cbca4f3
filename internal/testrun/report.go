package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// An event is a line of go test -json; see go doc test2json.
type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64 // seconds
	Output  string
}

// A report gathers events. What a test printed is kept until its end only, for as long as it may still fail.
type report struct {
	out      io.Writer
	began    time.Time
	packages map[string]*pkg

	passed, failed int
	skipped        []string
	leaves         []leaf // tests without subtests
	tested         int    // packages that ended
}

// pkg is a package that is being tested.
type pkg struct {
	output strings.Builder // of no test: of the package
	tests  map[string]*test
	order  []*test
}

// test is one that has begun.
type test struct {
	output strings.Builder // emptied if it passes: what is left when its package fails is printed
	parent bool            // has subtests
}

type leaf struct {
	name    string
	elapsed time.Duration
}

func newReport(out io.Writer) *report {
	return &report{out: out, began: time.Now(), packages: make(map[string]*pkg)}
}

// read takes events from r until its end. Lines that are no events, such as a warning of the go command, are passed on.
func (r *report) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if len(line) > 0 {
			if json.Unmarshal(line, &e) == nil {
				r.add(e)
			} else {
				r.out.Write(line)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) add(e event) {
	switch {
	case e.Action == "build-output": // belongs to no package under test
		io.WriteString(r.out, e.Output)
	case e.Package == "":
	case e.Test == "":
		r.addPackage(e)
	default:
		r.addTest(e)
	}
}

func (r *report) pkg(name string) *pkg {
	p := r.packages[name]
	if p == nil {
		p = &pkg{tests: make(map[string]*test)}
		r.packages[name] = p
	}
	return p
}

func (r *report) addPackage(e event) {
	p := r.pkg(e.Package)
	switch e.Action {
	case "output":
		p.output.WriteString(e.Output)
	case "pass", "skip", "fail":
		r.tested++
		p.print(r.out, e.Action == "fail")
		delete(r.packages, e.Package)
	}
}

func (r *report) addTest(e event) {
	p := r.pkg(e.Package)
	t := p.tests[e.Test]
	if t == nil {
		t = new(test)
		p.tests[e.Test] = t
		p.order = append(p.order, t)
		for i := range len(e.Test) { // every slash: one may be part of a subtest's own name
			if parent := p.tests[e.Test[:i]]; e.Test[i] == '/' && parent != nil {
				parent.parent = true
			}
		}
	}
	name := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		t.output.WriteString(e.Output)
		return
	case "pass":
		r.passed++
		t.output = strings.Builder{}
	case "skip":
		r.skipped = append(r.skipped, name+": "+reason(t.output.String()))
		t.output = strings.Builder{}
	case "fail":
		r.failed++
	default:
		return
	}
	if !t.parent {
		r.leaves = append(r.leaves, leaf{name, time.Duration(e.Elapsed * float64(time.Second))})
	}
}

// print writes go test's own closing line of a package, and all that a failed one said.
func (p *pkg) print(out io.Writer, failed bool) {
	if failed {
		for _, t := range p.order { // go test says what failed below its reasons: turn it round
			heading := func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "--- FAIL: ") }
			text := t.output.String()
			printLines(out, text, heading)
			printLines(out, text, func(line string) bool { return !heading(line) && !strings.HasPrefix(line, "=== ") })
		}
	}
	printLines(out, p.output.String(), func(line string) bool {
		closing := strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "?   \t")
		return closing || (failed && line != "PASS\n" && line != "FAIL\n")
	})
}

func printLines(out io.Writer, text string, wanted func(line string) bool) {
	for line := range strings.Lines(text) {
		if wanted(line) {
			io.WriteString(out, line)
		}
	}
}

// reason is what a skipped test said, in one line.
func reason(output string) string {
	var said []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			said = append(said, line)
		}
	}
	if said == nil {
		return "no reason given"
	}
	return strings.Join(said, " ")
}

// summary prints what was skipped, what was slow, and the counts.
func (r *report) summary() {
	for name, p := range r.packages { // go test ended before they did
		fmt.Fprintf(r.out, "FAIL\t%s\t[did not end]\n", name)
		p.print(r.out, true)
	}
	for _, s := range r.skipped {
		fmt.Fprintln(r.out, "skipped:", s)
	}
	slices.SortStableFunc(r.leaves, func(a, b leaf) int { return cmp.Compare(b.elapsed, a.elapsed) })
	if len(r.leaves) > 0 {
		fmt.Fprintln(r.out, "\nslowest tests:")
	}
	for _, l := range r.leaves[:min(10, len(r.leaves))] {
		fmt.Fprintf(r.out, "%9.2fs  %s\n", l.elapsed.Seconds(), l.name)
	}
	fmt.Fprintf(r.out, "\n%d tests passed, %d failed, %d were skipped; %d packages, %v\n",
		r.passed, r.failed, len(r.skipped), r.tested, time.Since(r.began).Round(100*time.Millisecond))
}

// verdict is why a run cannot count as passed although go test did not complain.
func (r *report) verdict(all bool) error {
	switch {
	case r.failed > 0 || len(r.packages) > 0:
		return errors.New("tests failed")
	case r.passed == 0:
		return errors.New("no test ran: name packages that have tests, for instance work, which is every module of the workspace")
	case all && len(r.skipped) > 0:
		return fmt.Errorf("%d tests were skipped, but HOLDFAST_TEST_REQUIRE=all asks for everything: see \"skipped:\" above", len(r.skipped))
	}
	return nil
}
