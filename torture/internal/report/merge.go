package report

import (
	"slices"
	"time"

	"holdfast.dev/torture/internal/check"
)

// Merge makes one document of several, oldest first: a run that was interrupted and went on, or runs of several stores. What they
// say about the same store, fault and class is added up; Lasted is how long all of them took together. Title and Generator are
// those of the first that has one.
func Merge(documents ...*Document) *Document {
	all := &Document{Format: Format}
	documents = slices.Clone(documents)
	slices.SortStableFunc(documents, func(a, b *Document) int { return a.Began.Compare(b.Began) })
	var rows [][]check.Row
	for _, d := range documents {
		if all.Title == "" {
			all.Title = d.Title
		}
		if all.Generator == "" {
			all.Generator = d.Generator
		}
		if all.Began.IsZero() {
			all.Began = d.Began
		}
		all.Lasted += max(0, d.Lasted)
		all.Rounds += d.Rounds
		if all.Stopped == "" {
			all.Stopped = d.Stopped
		}
		all.Command = union(all.Command, d.Command)
		all.Bundles = union(all.Bundles, d.Bundles)
		all.Versions = union(all.Versions, d.Versions)
		all.Seeds = union(all.Seeds, d.Seeds)
		all.Violations = append(all.Violations, d.Violations...)
		all.Timeline = append(all.Timeline, d.Timeline...)
		for _, c := range d.Controls {
			all.addControl(c)
		}
		rows = append(rows, d.Rows)
	}
	all.Rows = check.Add(rows...)
	all.Totals = Totals(all.Rows)
	return all
}

// addControl adds a line to that of the same control, if there is one.
func (d *Document) addControl(c ControlLine) {
	i := slices.IndexFunc(d.Controls, func(o ControlLine) bool { return o.Name == c.Name })
	if i < 0 {
		c.By = slices.Clone(c.By)
		d.Controls = append(d.Controls, c)
		return
	}
	known := &d.Controls[i]
	known.Seeds += c.Seeds
	known.Caught += c.Caught
	known.TwinPassed += c.TwinPassed
	known.Took += max(time.Duration(0), c.Took)
	known.By = union(known.By, c.By)
}

// union adds to a what it does not have, in the order in which it comes.
func union[T comparable](a, b []T) []T {
	for _, v := range b {
		if !slices.Contains(a, v) {
			a = append(a, v)
		}
	}
	return a
}
