package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"holdfast.dev/torture/internal/check"
)

// Text writes the document for a terminal of so many columns; 0: any. 100 are enough for a run that passed; where there are fewer, columns of the
// tables are left out, and named.
func Text(w io.Writer, d *Document, columns int) error {
	t := text{columns: columns}
	t.preface(d)
	for _, g := range d.groups() {
		t.group(g)
	}
	t.legend(d)
	t.controls(d.Controls)
	t.violations(d)
	t.verdict(d)
	_, err := io.WriteString(w, t.String())
	return err
}

// A text is being written.
type text struct {
	strings.Builder
	columns int
}

func (t *text) paragraph(format string, args ...any) { t.indented("", format, args...) }

func (t *text) indented(indent, format string, args ...any) {
	t.WriteString(wrap(line(fmt.Sprintf(format, args...)), indent, t.columns))
}

func (t *text) preface(d *Document) {
	t.paragraph("%s", d.title())
	for _, command := range d.Command {
		t.WriteString("  $ " + line(command) + "\n") // not wrapped: to be copied
	}
	if len(d.Versions) > 0 {
		t.indented("  ", "%s", strings.Join(d.Versions, ", "))
	}
	t.indented("  ", "%s", ran(d))
}

// ran says how much was run, when and with which seeds.
func ran(d *Document) string {
	s := fmt.Sprintf("%s in %s", counted(d.Rounds, "round", "rounds"), lasting(d.Lasted))
	if d.Rounds == 0 { // controls only
		s = "It took " + lasting(d.Lasted)
	}
	if !d.Began.IsZero() {
		s += d.Began.UTC().Format(", from 2006-01-02 15:04 UTC")
	}
	if len(d.Seeds) > 0 {
		s += "; " + seeds(d.Seeds)
	}
	return s
}

// seeds lists them, or the first of many.
func seeds(all []uint64) string {
	const most = 12
	var words []string
	for _, seed := range all[:min(most, len(all))] {
		words = append(words, fmt.Sprint(seed))
	}
	name := "seed "
	if len(all) > 1 {
		name = "seeds "
	}
	s := name + strings.Join(words, ", ")
	if more := len(all) - most; more > 0 {
		s += fmt.Sprintf(" and %s more", number(more))
	}
	return s
}

func (t *text) group(g group) {
	t.WriteByte('\n')
	t.paragraph("%s, %s", g.Store, about(g.Class))
	rest := shown(g.Rows)
	var left []string
	for {
		for _, gap := range []int{2, 1} {
			table := align(tabulate(g, rest), gap)
			if width(table[0]) <= t.columns || t.columns <= 0 {
				t.table(table, rest)
				if len(left) > 0 {
					t.indented("  ", "Left out, because the terminal is narrow: %s.", strings.Join(left, ", "))
				}
				return
			}
		}
		i := sparest(rest)
		if i < 0 {
			t.table(align(tabulate(g, rest), 1), rest) // it must be wider than the terminal
			return
		}
		left = append(left, strings.TrimSuffix(rest[i].title, ", ms"))
		rest = slices.Delete(rest, i, i+1)
	}
}

// sparest is the column that is left out first; −1: none can be.
func sparest(columns []column) int {
	best := -1
	for i, c := range columns {
		if c.spare > 0 && (best < 0 || c.spare > columns[best].spare) {
			best = i
		}
	}
	return best
}

// table writes the lines of a table, with rules below its head and above its sum.
func (t *text) table(lines []string, columns []column) {
	head := headLines(columns)
	rule := strings.Repeat("─", width(lines[0]))
	for i, l := range lines {
		if i == head || i == len(lines)-1 {
			t.WriteString(rule + "\n")
		}
		t.WriteString(strings.TrimRight(l, " ") + "\n")
	}
}

func headLines(columns []column) int {
	n := 1
	for _, c := range columns {
		n = max(n, 1+strings.Count(c.head, "\n"))
	}
	return n
}

// tabulate returns the cells of a group: the head's lines, a line for each fault, the sum.
func tabulate(g group, columns []column) [][]string {
	n := headLines(columns)
	cells := make([][]string, n)
	for i := range n {
		cells[i] = []string{""}
		for _, c := range columns {
			head := strings.Split(c.head, "\n")
			if at := i - (n - len(head)); at >= 0 {
				cells[i] = append(cells[i], head[at])
			} else {
				cells[i] = append(cells[i], "")
			}
		}
	}
	cells[n-1][0] = "fault"
	add := func(name string, r check.Row) {
		row := []string{line(name)}
		for _, c := range columns {
			row = append(row, c.value(r))
		}
		cells = append(cells, row)
	}
	for _, r := range g.Rows {
		add(fault(r), r)
	}
	add("all", g.Total.Row)
	return cells
}

// align makes lines of cells: the first is flush left, the others right. All lines are equally wide.
func align(cells [][]string, gap int) []string {
	widths := make([]int, len(cells[0]))
	for _, row := range cells {
		for i, cell := range row {
			widths[i] = max(widths[i], width(cell))
		}
	}
	lines := make([]string, len(cells))
	for i, row := range cells {
		var b strings.Builder
		for j, cell := range row {
			pad := strings.Repeat(" ", widths[j]-width(cell))
			if j == 0 {
				b.WriteString(cell + pad)
			} else {
				b.WriteString(strings.Repeat(" ", gap) + pad + cell)
			}
		}
		lines[i] = b.String()
	}
	return lines
}
