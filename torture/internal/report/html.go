package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"holdfast.dev/torture/internal/check"
)

var (
	//go:embed web/page.css
	pageCSS string
	//go:embed web/model.js
	modelJS string
	//go:embed web/draw.js
	drawJS string
	//go:embed web/look.js
	lookJS string
)

// script is all of it, with names of its own.
func script() string {
	return "(() => {\n\"use strict\";\n" + modelJS + "\n" + drawJS + "\n" + lookJS + "\n})();\n"
}

// policy lets a browser load nothing, and run nothing but what is written here: its sums are allowed, and nothing else.
func policy() string {
	return fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'", sum(script()), sum(pageCSS))
}

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(s[:])
}

// HTML writes the document as one page that loads nothing. Whatever names are in it, they are text.
func HTML(w io.Writer, d *Document) error {
	v := view(d)
	data, err := json.Marshal(v.Data) // which writes <, > and & in another way: it cannot end the element that it is in
	if err != nil {
		return err
	}
	m := new(markup)
	m.page(v, data)
	_, err = io.WriteString(w, m.String())
	return err
}

// A viewed document is what the page shows.
type viewed struct {
	Title, Passed, Ran string
	Problems           []string
	Command, Bundles   []string
	Versions           string
	Groups             []viewedGroup
	Meanings           []Meaning
	AboutControls      string
	Controls           []viewedControl
	Violations         []viewedViolation
	Rounds             []viewedRound
	Data               []pageRound
}

type viewedGroup struct {
	Store, About string
	Head         []Meaning
	Rows         []viewedRow
	Sum          []string
}

type viewedRow struct {
	Name  string
	Cells []string
	Bad   bool
}

type viewedControl struct {
	Name, Title, By, Took     string
	Seeds, Caught, TwinPassed int
	Bad                       bool
}

type viewedViolation struct{ Where, What, Again, Anchor string }

type viewedRound struct {
	Index                  int
	Anchor, Summary, Label string
	Open                   bool
}

func view(d *Document) *viewed {
	v := &viewed{
		Title: d.title(), Problems: d.Problems(), Passed: passed(d), Ran: ran(d), Command: d.Command, Versions: strings.Join(d.Versions, ", "),
		AboutControls: aboutControls,
	}
	for _, bundle := range d.Bundles {
		v.Bundles = append(v.Bundles, checkCommand+" "+shell(bundle))
	}
	for _, g := range d.groups() {
		v.Groups = append(v.Groups, viewGroup(g))
	}
	if len(d.Rows) > 0 {
		v.Meanings = append(meanings(shown(d.Rows)), Meaning{nothing, aboutNothing})
	}
	for _, c := range d.Controls {
		v.Controls = append(v.Controls, viewedControl{
			c.Name, c.Title, strings.Join(c.By, ", "), lasting(c.Took), c.Seeds, c.Caught, c.TwinPassed, !c.Held(),
		})
	}
	for i, r := range d.Timeline {
		v.Rounds = append(v.Rounds, viewRound(i, r))
		v.Data = append(v.Data, pageOf(r))
	}
	for _, line := range d.Violations {
		v.Violations = append(v.Violations, d.viewViolation(line))
	}
	return v
}

func viewGroup(g group) viewedGroup {
	columns := shown(g.Rows)
	cells := func(r check.Row) []string {
		var all []string
		for _, c := range columns {
			all = append(all, c.value(r))
		}
		return all
	}
	v := viewedGroup{Store: g.Store, About: sentence(about(g.Class)), Head: meanings(columns), Sum: cells(g.Total.Row)}
	for _, r := range g.Rows {
		v.Rows = append(v.Rows, viewedRow{fault(r), cells(r), r.Violations > 0})
	}
	return v
}

// sentence makes one of a clause.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

func (d *Document) viewViolation(v ViolationLine) viewedViolation {
	shown := viewedViolation{Where: where(v), What: v.What}
	if v.Bundle != "" {
		shown.Again = again(v)
	}
	for i, r := range d.Timeline {
		if r.Round == v.Round && r.Seed == v.Seed && r.Store == v.Store {
			shown.Anchor = anchor(i)
			break
		}
	}
	return shown
}

func anchor(round int) string { return fmt.Sprintf("round-%d", round) }

func viewRound(i int, r RoundTimeline) viewedRound {
	parts := []string{
		fmt.Sprintf("Round %d, %s", r.Round, r.Store), r.Class, fmt.Sprintf("seed %d", r.Seed), lasting(r.Lasted), "TTL " + ms(r.TTL) + " ms",
		counted(len(r.Holds), "hold", "holds"), counted(len(r.Faults), "fault", "faults"),
	}
	if n := len(r.Overlaps); n > 0 {
		parts = append(parts, counted(n, "overlap", "overlaps"))
	}
	if n := len(r.Violations); n > 0 {
		parts = append(parts, strings.ToUpper(counted(n, "violation", "violations")))
	}
	return viewedRound{
		Index: i, Anchor: anchor(i), Summary: strings.Join(parts, " · "), Open: i == 0 || len(r.Violations) > 0,
		Label: fmt.Sprintf("holds and faults of round %d over time; step through them with the keys comma and full stop", r.Round),
	}
}
