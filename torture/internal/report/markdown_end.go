package report

import (
	"fmt"
	"strings"
)

func (p *page) meanings(d *Document) {
	if len(d.Rows) == 0 {
		return
	}
	p.heading("What the numbers mean")
	for _, m := range meanings(shown(d.Rows)) {
		p.WriteString("- " + strings.TrimLeft(wrap("**"+escape(m.Name)+"**: "+escape(m.Text), "  ", 140), " "))
	}
	p.WriteString("- **" + nothing + "**: " + aboutNothing + "\n\n")
}

func (p *page) controls(controls []ControlLine) {
	if len(controls) == 0 {
		return
	}
	p.heading("Broken locks that must be caught")
	p.paragraph("%s", aboutControls)
	cells := [][]string{{"", "what is wrong with it", "caught", "by", "twin passed"}}
	for _, c := range controls {
		name := escape(c.Name)
		if !c.Held() {
			name = "**FAILED** " + name
		}
		cells = append(cells, []string{name, escape(c.Title), fmt.Sprintf("%d of %d", c.Caught, c.Seeds), escape(strings.Join(c.By, ", ")),
			fmt.Sprintf("%d of %d", c.TwinPassed, c.Seeds)})
	}
	p.table(cells, 5)
}

func (p *page) violations(d *Document) {
	if len(d.Violations) == 0 {
		return
	}
	p.heading("Violations")
	for _, v := range d.Violations {
		p.WriteString("- " + escape(where(v)) + ": " + escape(v.What) + "\n")
	}
	p.WriteString("\n")
}

func (p *page) record(bugs []Bug) {
	p.heading("Bugs found so far")
	if len(bugs) == 0 {
		p.paragraph("None yet.")
		return
	}
	p.paragraph("What the torture has found in Holdfast, and the test that would find it again.")
	cells := [][]string{{"what", "where", "found by", "mended", "test"}}
	for _, b := range bugs {
		cells = append(cells, []string{escape(b.What), codeCell(b.Where), codeCell(b.Found), escape(b.Mended), codeCell(b.Test)})
	}
	p.table(cells, 5)
}

// codeCell is inline code in a table, where a bar ends a cell even in code.
func codeCell(s string) string {
	if s == "" {
		return nothing
	}
	return strings.ReplaceAll(code(s), "|", `\|`)
}
