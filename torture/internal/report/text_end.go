package report

import (
	"fmt"
	"path/filepath"
	"strings"

	"holdfast.dev/torture/internal/check"
)

// legend explains the columns that were shown.
func (t *text) legend(d *Document) {
	if len(d.Rows) == 0 {
		return
	}
	t.WriteString("\nWhat the numbers mean\n")
	for _, m := range meanings(shown(d.Rows)) {
		t.hanging(m.Name, 23, m.Text)
	}
	t.hanging(nothing, 23, aboutNothing)
}

// aboutNothing explains it.
const aboutNothing = "it was not measured: the case did not come."

// hanging writes a word, and beside it, from the column left on, what is to be said about it.
func (t *text) hanging(word string, left int, explanation string) {
	body := wrap(line(explanation), strings.Repeat(" ", left), t.columns)
	word = "  " + word
	t.WriteString(word + strings.Repeat(" ", max(1, left-width(word))) + strings.TrimLeft(body, " "))
}

func (t *text) controls(controls []ControlLine) {
	if len(controls) == 0 {
		return
	}
	t.WriteString("\nBroken locks\n")
	t.indented("  ", "%s", aboutControls)
	for _, c := range controls {
		mark := "ok"
		if !c.Held() {
			mark = "FAILED"
		}
		t.hanging(mark, 10, c.Name+": "+c.Title)
		t.indented("          ", "caught with %s of %s seeds%s; its twin passed with %s; took %s",
			number(c.Caught), number(c.Seeds), by(c.By), number(c.TwinPassed), lasting(c.Took))
	}
}

// aboutControls is said above the controls.
const aboutControls = "Each is wrong on purpose, in one way, and must be caught with every seed; its correct twin must pass with the same faults. A " +
	"checker that lets a broken lock pass proves nothing about a good one."

// by lists checkers.
func by(checkers []string) string {
	if len(checkers) == 0 {
		return ""
	}
	return ", by " + strings.Join(checkers, ", ")
}

func (t *text) violations(d *Document) {
	if len(d.Violations) == 0 {
		return
	}
	t.WriteString("\nViolations\n")
	for i, v := range d.Violations {
		t.hanging(fmt.Sprintf("%d.", i+1), 6, where(v)+": "+v.What)
		if v.Bundle != "" {
			t.WriteString("      look at it: " + line(look(v)) + "\n") // not broken: it can be copied
		}
		if v.Rerun != "" {
			t.WriteString("      run it again: " + line(v.Rerun) + "\n")
		}
	}
	if more := d.violations() - len(d.Violations); more > 0 {
		t.indented("      ", "%s more: counted, but not listed here", number(more))
	}
}

// where says which checker found a violation, and in what.
func where(v ViolationLine) string {
	s := v.Checker
	if v.Lock != "" {
		s += fmt.Sprintf(" of %q", v.Lock)
	}
	s += fmt.Sprintf(", %s, round %d, seed %d", v.Store, v.Round, v.Seed)
	if v.Fault != "" && v.Fault != check.NoFault {
		s += ", fault " + v.Fault
	}
	return s
}

// look is how to see what happened: the history, and porcupine's page if that has found it.
func look(v ViolationLine) string {
	command := fmt.Sprintf("holdfast torture show %s %d", shell(v.Bundle), v.Round)
	if v.Lock != "" {
		command += " --lock " + shell(v.Lock)
	}
	if v.Checker == "linear" {
		command += fmt.Sprintf("; or open %s", shell(filepath.Join(v.Bundle, fmt.Sprintf("round-%06d.html", v.Round))))
	}
	return command
}

// again is the command that checks the bundle of a violation once more, without running anything.
func again(v ViolationLine) string { return checkCommand + " " + shell(v.Bundle) }

// checkCommand is how a bundle is checked offline.
const checkCommand = "holdfast torture check"

// verdict is the last thing that is said: it stays on the screen.
func (t *text) verdict(d *Document) {
	t.WriteByte('\n')
	problems := d.Problems()
	if len(problems) == 0 {
		t.paragraph("PASSED: %s", passed(d))
	}
	for i, p := range problems {
		label := "FAILED"
		if i == 0 && d.Stopped != "" {
			label = "NOT FINISHED"
		}
		t.paragraph("%s: %s", label, p)
	}
	for _, bundle := range d.Bundles {
		t.WriteString("  check it again: " + checkCommand + " " + line(shell(bundle)) + "\n")
	}
}

// passed is what a run without problems has shown.
func passed(d *Document) string {
	var parts []string
	if n := d.operations(); n > 0 {
		faulted := 0
		for _, total := range Totals(d.Rows) {
			faulted += total.Faulted
		}
		parts = append(parts, fmt.Sprintf("no violation in %s, %s of them during faults or after", counted(n, "operation", "operations"), number(faulted)))
	}
	if n := len(d.Controls); n > 0 {
		parts = append(parts, fmt.Sprintf("%s caught with every seed", counted(n, "broken lock", "broken locks")))
	}
	return strings.Join(parts, "; ") + "."
}
