package report

import (
	"io"
	"strings"
	"unicode/utf8"
)

// aligned prints rows for a terminal. Wide tables are tables of numbers: there all columns but the first are aligned to the right.
func aligned(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	right := len(widths) > 4
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if right && i > 0 {
				line += "  " + pad + cell
			} else {
				line += "  " + cell + pad
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// piped prints rows as a table of a page; the first has the titles.
func piped(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		cells := make([]string, len(row))
		for j, cell := range row {
			cells[j] = strings.ReplaceAll(cell, "|", `\|`)
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|" + strings.Repeat("---|", len(row)) + "\n")
		}
	}
	return b.String()
}

// Table prints rows, of which the first has the titles: for a terminal, or for a page.
func Table(w io.Writer, rows [][]string, markdown bool) error {
	text := aligned(rows)
	if markdown {
		text = piped(rows)
	}
	_, err := io.WriteString(w, text)
	return err
}
