// Package report prints a document: for people, for a page, for programs.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"holdfast.dev/bench/internal/result"
)

// Print writes the document as JSON, for a page, or as text.
func Print(w io.Writer, d *result.Document, json, markdown bool) error {
	switch {
	case json:
		return JSON(w, d)
	case markdown:
		return Markdown(w, d)
	default:
		return Text(w, d)
	}
}

// JSON writes the document as it is.
func JSON(w io.Writer, d *result.Document) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(d)
}

// Text writes aligned tables. Below every median stands its spread.
func Text(w io.Writer, d *result.Document) error {
	var b strings.Builder
	for _, line := range preface(d) {
		b.WriteString(line + "\n")
	}
	for _, s := range d.Scenarios {
		fmt.Fprintf(&b, "\n%s: %s\n", s.Name, s.Title)
		columns := of(s, columns)
		rows := [][]string{titles(columns)}
		for _, c := range s.Contenders {
			rows = append(rows, medians(columns, c))
			if below := spreads(columns, c); strings.Join(below, "") != "" {
				rows = append(rows, below)
			}
		}
		b.WriteString(aligned(rows))
		for _, note := range notes(s) {
			b.WriteString("  " + note + "\n")
		}
	}
	if d.Scale != nil {
		b.WriteString("\nscale\n")
		b.WriteString(aligned(scaled(d.Scale)))
	}
	b.WriteString("\nbars\n")
	b.WriteString(aligned(judged(d.Bars)))
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown writes the most important of it for a page, with the spread behind the median.
func Markdown(w io.Writer, d *result.Document) error {
	var b strings.Builder
	for _, line := range preface(d) {
		b.WriteString(line + "  \n")
	}
	for _, s := range d.Scenarios {
		fmt.Fprintf(&b, "\n### %s: %s\n\n", s.Name, s.Title)
		brief := of(s, brief)
		rows := [][]string{titles(brief)}
		for _, c := range s.Contenders {
			row := medians(brief, c)
			for i, spread := range spreads(brief, c) {
				if spread != "" {
					row[i] += " (" + spread + ")"
				}
			}
			rows = append(rows, row)
		}
		b.WriteString(piped(rows))
		for _, note := range notes(s) {
			b.WriteString("\n" + note + "\n")
		}
	}
	if d.Scale != nil {
		b.WriteString("\n### scale\n\n")
		b.WriteString(piped(append([][]string{{"what", "measured"}}, scaled(d.Scale)...)))
	}
	b.WriteString("\n### bars\n\n")
	b.WriteString(piped(append([][]string{{"", "bar", "wanted", "measured"}}, judged(d.Bars)...)))
	_, err := io.WriteString(w, b.String())
	return err
}

// preface says what was measured, where, and how to read it.
func preface(d *result.Document) []string {
	var versions []string
	for _, module := range slices.Sorted(maps.Keys(d.Libraries)) {
		versions = append(versions, module+" "+d.Libraries[module])
	}
	whose := "a server that was there"
	switch {
	case d.Server.Nodes > 0:
		whose = fmt.Sprintf("%d servers of its own", d.Server.Nodes)
	case d.Server.Own:
		whose = "a server of its own"
	}
	m := d.Machine
	lines := []string{
		fmt.Sprintf("%s %s (%s); %s", d.Server.Product, d.Server.Version, whose, strings.Join(versions, ", ")),
		strings.TrimSuffix(fmt.Sprintf("%s, %d processors, %s, %s; load before: %s", m.System, m.Processors, m.Model, m.Go, m.Load), "; load before: "),
		fmt.Sprintf("Repetitions: %d, each of %s after a warm-up of %s, contenders in turn. Medians, with the spread (least…most); times in ms.", d.Runs, d.For, d.Warm),
		"×limit and ×peer: throughput by the limit's and by the best peer's, in the same repetition; p99 ×peer: the wait by the shortest of any peer.",
		"×off: by that without the guard, in the same repetition.",
	}
	if d.Runs < 5 {
		lines = append(lines, "Fewer than 5 repetitions: good for a look, not for a comparison.")
	}
	return lines
}

// notes tells of libraries that left failures to their callers, and of those that did not exclude.
func notes(s *result.Scenario) []string {
	var lines []string
	for _, c := range s.Contenders {
		broke, how := 0, ""
		for _, run := range c.Runs {
			if run.Broke != "" {
				broke, how = broke+1, run.Broke
			}
		}
		if broke > 0 {
			lines = append(lines, fmt.Sprintf("%s DID NOT EXCLUDE in %d of %d repetitions, which have no figures: %s", c.Name, broke, len(c.Runs), how))
		}
		for _, run := range c.Runs {
			if run.Problem != "" {
				lines = append(lines, fmt.Sprintf("%s gave up, and was asked again; the last time it said: %s", c.Name, oneLine(run.Problem)))
				break
			}
		}
	}
	return lines
}

func oneLine(text string) string {
	return strings.Join(strings.Fields(text), " ")
}
