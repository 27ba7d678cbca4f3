package torture

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"holdfast.dev/torture/internal/bundle"
	"holdfast.dev/torture/internal/judge"
	"holdfast.dev/torture/internal/report"
)

// A Result is what a run, or the rounds of bundles, have shown.
type Result struct {
	document *report.Document
}

// Passed reports whether there was no violation, and something was done at all.
func (r *Result) Passed() bool { return len(r.document.Problems()) == 0 }

// Violations is how many there were.
func (r *Result) Violations() int {
	n := 0
	for _, row := range r.document.Rows {
		n += row.Violations
	}
	return max(n, len(r.document.Violations))
}

// Text writes it for people: tables, so many columns wide.
func (r *Result) Text(w io.Writer, columns int) error { return report.Text(w, r.document, columns) }

// JSON writes it for programs.
func (r *Result) JSON(w io.Writer) error { return report.JSON(w, r.document) }

// HTML writes it as one page, with a timeline to look at.
func (r *Result) HTML(w io.Writer) error { return report.HTML(w, r.document) }

// Markdown writes it as docs/proof.md.
func (r *Result) Markdown(w io.Writer) error {
	d := *r.document
	d.Generator = "holdfast torture report --markdown"
	return report.Markdown(w, &d, trackRecord)
}

// result is that of a run, together with what was in the bundle before.
func (r *running) result() (*Result, error) {
	d, err := documentOf(r.bundle, false, nil)
	if err != nil {
		return nil, err
	}
	return &Result{d}, nil
}

// forget drops where the rounds are.
func (r *Result) forget() { r.document.Bundles = nil }

// Check judges the rounds of bundles again, from their histories alone. progress is told of each; it may be nil.
func Check(bundles []string, progress func(bundle string, round int)) (*Result, error) {
	return fromBundles(bundles, true, progress)
}

// Report puts together what was found in bundles when their rounds were run, or checked last, and results that were written as JSON:
// those of Controls have no bundle.
func Report(sources []string) (*Result, error) {
	var bundles []string
	var all []*report.Document
	for _, source := range distinct(sources) {
		if info, err := os.Stat(source); err != nil || !info.Mode().IsRegular() {
			bundles = append(bundles, source)
			continue
		}
		d, err := readDocument(source)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrOption, source, err)
		}
		all = append(all, d)
	}
	result, err := fromBundles(bundles, false, nil)
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		if both := distinct(append(slices.Clone(bundles), d.Bundles...)); len(both) < len(bundles)+len(d.Bundles) {
			return nil, fmt.Errorf("%w: what was written as JSON and a bundle are about the same rounds: leave one of them out", ErrOption)
		}
		bundles = append(bundles, d.Bundles...)
	}
	d := report.Merge(append(all, result.document)...)
	d.Title = ""
	return &Result{d}, nil
}

func readDocument(name string) (*report.Document, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return report.ReadJSON(file)
}

func fromBundles(dirs []string, again bool, progress func(string, int)) (*Result, error) {
	var all []*report.Document
	for _, dir := range distinct(dirs) {
		b, err := bundle.Open(dir)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOption, err)
		}
		d, err := documentOf(b, again, progress)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return &Result{report.Merge(all...)}, nil
}

// distinct leaves out directories that were named before: no round counts twice.
func distinct(dirs []string) []string {
	var seen []os.FileInfo
	return slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool {
		info, err := os.Stat(dir)
		if err != nil {
			return false // whoever opens it says why not
		}
		known := slices.ContainsFunc(seen, func(other os.FileInfo) bool { return os.SameFile(info, other) })
		seen = append(seen, info)
		return known
	})
}

// documentOf is about all rounds of a bundle. What is missing or damaged counts as a violation: nobody knows what was in it.
func documentOf(b *bundle.Bundle, again bool, progress func(string, int)) (*report.Document, error) {
	numbers, err := b.Rounds()
	if err != nil {
		return nil, err
	}
	var verdicts []*judge.Verdict
	var trouble []report.ViolationLine
	bad := func(number int, format string, args ...any) {
		trouble = append(trouble, report.ViolationLine{Bundle: b.Dir(), Round: number, Checker: "bundle", What: fmt.Sprintf(format, args...)})
	}
	for i, n := range numbers {
		if progress != nil {
			progress(b.Dir(), n)
		}
		for missing := 1 + before(numbers, i); missing < n; missing++ {
			bad(missing, "the round is missing")
		}
		switch v, err := verdictOf(b, n, again); {
		case err != nil:
			bad(n, "%v; take it from a copy of the bundle, or remove the bundle", err)
		case v.Number != n:
			bad(n, "it is a copy of round %d, or of another bundle's", v.Number)
		default:
			verdicts = append(verdicts, v)
		}
	}
	d := report.Merge(assemble(b, verdicts), &report.Document{Violations: trouble})
	d.Timeline, err = timelines(b, verdicts)
	return d, err
}

// before is the number before the i-th.
func before(numbers []int, i int) int {
	if i == 0 {
		return 0
	}
	return numbers[i-1]
}

// verdictOf reads the verdict of a round, or judges it again.
func verdictOf(b *bundle.Bundle, number int, again bool) (*judge.Verdict, error) {
	sum, err := b.Sum(number)
	if err != nil {
		return nil, err
	}
	v := new(judge.Verdict)
	data, err := os.ReadFile(b.Name(number, "json"))
	if again || err != nil || json.Unmarshal(data, v) != nil || v.Format != judge.Format || v.Sum != sum {
		// The run was stopped before it was judged, or it was by other checkers, or the verdict is about something else.
		if v, err = judged(b, number); err == nil {
			keep(b, number, v) // where nothing can be written, as in an archive, it is made again the next time
		}
		return v, err
	}
	return v, nil
}

// listed is how many violations of one checker in one round are listed.
const listed = 3

// assemble puts verdicts together.
func assemble(b *bundle.Bundle, verdicts []*judge.Verdict) *report.Document {
	head := &report.Document{Bundles: []string{b.Dir()}}
	for _, run := range b.Runs() {
		head.Command, head.Seeds = append(head.Command, run.Command), append(head.Seeds, run.Seed)
	}
	parts := []*report.Document{head}
	for _, v := range verdicts {
		d := &report.Document{Versions: v.Versions, Began: v.Began, Lasted: v.Lasted, Rounds: 1, Rows: v.Rows}
		seen := make(map[string]int)
		for _, x := range v.Violations {
			if seen[x.Checker]++; seen[x.Checker] <= listed {
				d.Violations = append(d.Violations, report.ViolationLine{Bundle: b.Dir(), Round: v.Number, Seed: v.Run, Store: v.Store,
					Checker: x.Checker, Lock: x.Lock, What: x.What, Fault: x.Fault, Rerun: rerun(b, v)})
			}
		}
		parts = append(parts, d)
	}
	return report.Merge(parts...)
}

// rerun is the command that runs a round again: that of its run, and which one it was.
func rerun(b *bundle.Bundle, v *judge.Verdict) string {
	for _, run := range b.Runs() {
		if run.Seed == v.Run && run.Command != "" && v.Turn > 0 {
			return fmt.Sprintf("%s --round %d", run.Command, v.Turn)
		}
	}
	return ""
}

// shown is how many rounds have a timeline in the page: those with violations first, then the last ones of each store and class.
const shown = 8

func timelines(b *bundle.Bundle, verdicts []*judge.Verdict) ([]report.RoundTimeline, error) {
	chosen := slices.Clone(verdicts)
	slices.Reverse(chosen)
	seen := make(map[string]int)
	rank := make(map[*judge.Verdict]int)
	for _, v := range chosen {
		key := v.Store + " " + v.Class
		rank[v] = seen[key]
		seen[key]++
	}
	slices.SortStableFunc(chosen, func(a, b *judge.Verdict) int {
		return cmp.Or(-cmp.Compare(min(len(a.Violations), 1), min(len(b.Violations), 1)), cmp.Compare(rank[a], rank[b]))
	})
	var lines []report.RoundTimeline
	for _, v := range chosen[:min(len(chosen), shown)] {
		h, err := b.Load(v.Number)
		if err != nil {
			return nil, err
		}
		if h.Meta.Broken != "" {
			continue // half a round is no picture
		}
		line, err := report.Timeline(h, v.Violations, v.Rows...)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}
