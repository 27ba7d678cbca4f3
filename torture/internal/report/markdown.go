package report

import (
	"fmt"
	"io"
	"strings"

	"holdfast.dev/torture/internal/check"
)

// A Bug is one that the torture has found: the track record.
type Bug struct {
	What   string `json:"what"`   // what went wrong, for users
	Where  string `json:"where"`  // the package
	Found  string `json:"found"`  // by which command, in which round of it
	Mended string `json:"mended"` // how
	Test   string `json:"test"`   // that would find it again
}

// Markdown writes the page docs/proof.md: what was run, what came of it, the broken locks, and the bugs that were found so far.
func Markdown(w io.Writer, d *Document, record []Bug) error {
	p := new(page)
	p.preface(d)
	p.reached(d)
	p.class(d, within, "Within the assumptions", "What a store promises to survive. Nobody may hold a lock together with somebody else, "+
		"nothing may be lost behind the fence, everybody is served. One violation is a bug.")
	p.class(d, beyond, "Beyond the assumptions", "What no lock of that kind can survive: the store forgets a hold, or its time jumps, and the next "+
		"holder comes before the news does. The overlap is measured. The first holder must be told within one renewal interval, a third of the TTL "+
		fmt.Sprintf("(and %s ms, for a busy machine), and behind a fence nothing is lost where tokens are durable.", ms(check.Tolerance)))
	p.class(d, check.NoFault, "Without faults", "For comparison.")
	p.meanings(d)
	p.controls(d.Controls)
	p.violations(d)
	p.record(record)
	_, err := io.WriteString(w, strings.TrimRight(p.String(), "\n")+"\n")
	return err
}

// A page is being written.
type page struct{ strings.Builder }

func (p *page) paragraph(format string, args ...any) {
	p.WriteString(wrap(fmt.Sprintf(format, args...), "", 140) + "\n")
}

func (p *page) heading(text string) { p.WriteString("## " + text + "\n\n") }

func (p *page) preface(d *Document) {
	p.WriteString("# Proof\n\n")
	by := "from the bundles of the runs below"
	if d.Generator != "" {
		by = "by " + code(d.Generator) + " " + by
	}
	p.WriteString("<!-- Generated: the next run overwrites what is edited here. -->\n\n")
	p.paragraph("This page is generated %s; nobody writes its numbers. Worker processes take and release real locks while the servers, the network and "+
		"the processes themselves are made to fail. Each process records what it asked for and what it was told; afterwards checkers go through "+
		"these histories and look for what must not be.", by)
	p.heading("What was run")
	if len(d.Command) > 0 {
		p.WriteString("```console\n")
		for _, command := range d.Command {
			p.WriteString("$ " + line(command) + "\n")
		}
		p.WriteString("```\n\n")
	}
	p.paragraph("%s.", escape(ran(d)))
	if len(d.Versions) > 0 {
		p.paragraph("With %s.", escape(strings.Join(d.Versions, ", ")))
	}
	p.paragraph("The same seed makes the same schedule of faults and of work; which thread is faster is the machine's affair. So a history is kept, "+
		"and `%s BUNDLE` checks it again, now or years later.", checkCommand)
}

// reached is the table of counts per store.
func (p *page) reached(d *Document) {
	p.heading("What was reached")
	for _, problem := range d.Problems() {
		p.paragraph("**%s**", escape(problem))
	}
	cells := [][]string{{"store", "faults", "faults caused", "operations", "during faults or after", "holds", "failed", "fenced loss", "violations"}}
	for _, t := range Totals(d.Rows) {
		cells = append(cells, []string{escape(t.Store), escape(t.Class), number(t.Faults), number(t.Operations), number(t.Faulted), number(t.Holds),
			number(t.Failed), number(t.FencedLost), number(t.Violations)})
	}
	p.table(cells, 2)
}

// class writes the tables of one class, a table for each store.
func (p *page) class(d *Document, class, title, explanation string) {
	begun := false
	for _, g := range d.groups() {
		if g.Class != class {
			continue
		}
		if !begun {
			p.heading(title)
			p.paragraph("%s", explanation)
			begun = true
		}
		p.WriteString("### " + escape(g.Store) + ", " + class + "\n\n")
		p.table(piped(g), 1)
	}
}

// piped returns the cells of a group.
func piped(g group) [][]string {
	columns := shown(g.Rows)
	head := []string{"fault"}
	for _, c := range columns {
		head = append(head, c.title)
	}
	cells := [][]string{head}
	add := func(name string, r check.Row, mark string) {
		row := []string{mark + escape(name) + mark}
		for _, c := range columns {
			row = append(row, mark+escape(c.value(r))+mark)
		}
		cells = append(cells, row)
	}
	for _, r := range g.Rows {
		add(fault(r), r, "")
	}
	add("all", g.Total.Row, "**")
	return cells
}

// table writes cells; those from column numbers on are flush right.
func (p *page) table(cells [][]string, numbers int) {
	for i, row := range cells {
		p.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			for j := range row {
				if j < numbers {
					p.WriteString("|---")
				} else {
					p.WriteString("|---:")
				}
			}
			p.WriteString("|\n")
		}
	}
	p.WriteString("\n")
}

// code is inline code, whatever is in it.
func code(s string) string {
	s = line(s)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}

// escape makes a text mean nothing in Markdown, in a table either, and keeps it on one line.
func escape(s string) string {
	return escapes.Replace(line(s))
}

var escapes = strings.NewReplacer("|", `\|`, "\\", `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "[", `\[`, "]", `\]`,
	"#", `\#`, "~", `\~`, "$", `\$`)
