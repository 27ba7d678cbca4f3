package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"holdfast.dev/torture/internal/report"
)

// full is a document that has everything.
func full(t *testing.T) *report.Document {
	d := broken()
	d.Violations[0].Lock = "hot <\u2028>" // JSON has no bytes that are not UTF-8; these it has
	d.Timeline = []report.RoundTimeline{timeline(t, nil, hold(1, 18_446_744_073_709_551_615, 1, 0, 10, 90, 310), hold(2, 2, 2, 0, 15, 30, 900))}
	return d
}

func TestJSONComesBack(t *testing.T) {
	d := full(t)
	var b bytes.Buffer
	if err := report.JSON(&b, d); err != nil {
		t.Fatal(err)
	}
	if d.Format != 0 {
		t.Error("the document was changed")
	}
	if !strings.Contains(b.String(), `"token":"18446744073709551615"`) {
		t.Error("a token is not a string: JavaScript rounds it")
	}
	got, err := report.ReadJSON(&b)
	if err != nil {
		t.Fatal(err)
	}
	d.Format = report.Format
	if !reflect.DeepEqual(got, d) {
		t.Errorf("it came back as\n%+v\nand was\n%+v", got, d)
	}
}

func TestReadJSONRefuses(t *testing.T) {
	for _, bad := range []string{``, `{`, `{"format": "1"}`} {
		if _, err := report.ReadJSON(strings.NewReader(bad)); err == nil || errors.Is(err, report.ErrFormat) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, other := range []string{`{}`, `{"format": 2}`} {
		if _, err := report.ReadJSON(strings.NewReader(other)); !errors.Is(err, report.ErrFormat) {
			t.Errorf("%s: %v", other, err)
		}
	}
}

// What programs read must keep its names.
func TestNamesInJSON(t *testing.T) {
	var b bytes.Buffer
	if err := report.JSON(&b, full(t)); err != nil {
		t.Fatal(err)
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(b.Bytes(), &top); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"format", "title", "command", "versions", "began", "lasted", "rounds", "seeds", "rows", "totals", "violations", "controls", "timeline"} {
		if top[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
	var totals []map[string]any
	if err := json.Unmarshal(top["totals"], &totals); err != nil || totals[0]["operations"] != 1_204_882.0 || totals[0]["faulted"] != 1_204_882.0 {
		t.Errorf("totals: %v %v", totals, err)
	}
}

func TestMerge(t *testing.T) {
	early, late := sample(), broken()
	early.Controls[1].By = append(make([]string, 0, 4), "registers")
	late.Controls[1].By = []string{"windows"}
	late.Began = early.Began.Add(time.Hour)
	late.Seeds, late.Title = []uint64{7, 8}, "another"
	got := report.Merge(late, early)
	if got.Title != early.Title || !got.Began.Equal(early.Began) || got.Lasted != 40*time.Minute || got.Rounds != 240 {
		t.Errorf("%+v", got)
	}
	if want := []uint64{7, 18_446_744_073_709_551_615, 8}; !reflect.DeepEqual(got.Seeds, want) || len(got.Command) != 2 || len(got.Bundles) != 1 {
		t.Errorf("seeds %v, commands %q, bundles %q", got.Seeds, got.Command, got.Bundles)
	}
	if len(got.Rows) != len(early.Rows) || len(got.Violations) != 2 {
		t.Errorf("%d rows, %d violations", len(got.Rows), len(got.Violations))
	}
	if n := got.Controls[1]; n.Seeds != 40 || n.Caught != 39 || n.TwinPassed != 40 || len(n.By) != 2 {
		t.Errorf("control %+v", n)
	}
	for i, total := range got.Totals {
		if once := early.Totals[i]; total.Operations != 2*once.Operations || total.Faulted != 2*once.Faulted || total.LongestHeal != once.LongestHeal {
			t.Errorf("total %+v, once %+v", total, once)
		}
	}
	if by := early.Controls[1].By[:2]; by[1] != "" || early.Controls[1].Seeds != 20 || len(early.Seeds) != 2 {
		t.Error("what was merged has changed")
	}
}
