package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"holdfast.dev/torture/internal/report"
)

func html(t *testing.T, d *report.Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.HTML(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var (
	scripts = regexp.MustCompile(`(?s)<script([^>]*)>(.*?)</script>`)
	styles  = regexp.MustCompile(`(?s)<style>(.*?)</style>`)
)

// bare is the page without its script and its style.
func bare(page string) string {
	return styles.ReplaceAllString(scripts.ReplaceAllString(page, "<script></script>"), "<style></style>")
}

// asXML writes what HTML leaves out: ends of elements that have no content, and values of attributes that have none.
func asXML(page string) string {
	page = strings.TrimPrefix(page, "<!doctype html>")
	page = regexp.MustCompile(`<((?:meta|br)[^>]*)>`).ReplaceAllString(page, `<$1/>`)
	return regexp.MustCompile(` (open|hidden)>`).ReplaceAllString(page, ` $1="">`)
}

func TestHTMLIsWellFormed(t *testing.T) {
	for _, d := range []*report.Document{full(t), sample(), {}} {
		page := asXML(bare(html(t, d)))
		decoder := xml.NewDecoder(strings.NewReader(page))
		decoder.Entity = xml.HTMLEntity
		ids := make(map[string]bool)
		for {
			token, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, page)
			}
			if start, ok := token.(xml.StartElement); ok {
				for _, a := range start.Attr {
					if a.Name.Local == "id" && ids[a.Value] {
						t.Errorf("the id %s is there twice", a.Value)
					} else if a.Name.Local == "id" {
						ids[a.Value] = true
					}
				}
			}
		}
		for _, m := range regexp.MustCompile(`(?:href="#|aria-labelledby=")([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if !ids[m[1]] {
				t.Errorf("there is no %s", m[1])
			}
		}
	}
}

// The page loads nothing, and its policy allows exactly its own style and script.
func TestHTMLIsSelfContained(t *testing.T) {
	page := html(t, full(t))
	for _, bad := range []string{"http:", "https:", "src=", "@import", "url(", "<link", "<img", "<iframe", " style=", "eval(", "innerHTML", "fetch(", "import("} {
		if strings.Contains(page, bad) {
			t.Errorf("%s is in the page", bad)
		}
	}
	if m := regexp.MustCompile(`\son[a-z]+\s*=\s*"`).FindString(bare(page)); m != "" {
		t.Errorf("a handler that the policy forbids: %s", m)
	}
	allowed := func(kind, text string) {
		sum := sha256.Sum256([]byte(text))
		// The template writes + as &#43; in attributes; a browser reads it as +.
		policy := strings.NewReplacer("&#43;", "+", "&#39;", "'").Replace(page)
		if !strings.Contains(policy, kind+"-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
			t.Errorf("the policy does not allow the %s of the page", kind)
		}
	}
	found := scripts.FindAllStringSubmatch(page, -1)
	if len(found) != 2 || !strings.Contains(found[0][1], "application/json") || found[1][1] != "" {
		t.Fatalf("%d scripts", len(found))
	}
	allowed("script", found[1][2])
	allowed("style", styles.FindStringSubmatch(page)[1])
	if !strings.Contains(page, "default-src &#39;none&#39;") {
		t.Error("the policy does not forbid the rest")
	}
}

func TestHTMLEscapes(t *testing.T) {
	const name = `</script><script>alert(1)</script><img src=x onerror=alert(1)>"'&<!--`
	d := full(t)
	d.Title, d.Command, d.Versions, d.Bundles = name, []string{name}, []string{name}, []string{name}
	for i := range d.Rows {
		d.Rows[i].Fault, d.Rows[i].Store, d.Rows[i].Class = name, name, name
	}
	d.Controls[0].Name, d.Controls[0].Title, d.Controls[0].By = name, name, []string{name}
	v := &d.Violations[0]
	v.Bundle, v.Store, v.Checker, v.Lock, v.What, v.Fault = name, name, name, name, name, name
	r := &d.Timeline[0]
	r.Store, r.Class, r.Locks = name, name, []string{name, name}
	r.Faults = []report.FaultBar{{Name: name}}
	r.Violations = []report.ViolationMark{{Checker: name, What: name}}
	r.Holds[0].Lost, r.Holds[0].Reason = true, name
	page := html(t, d)
	if n := strings.Count(page, "<script"); n != 2 {
		t.Errorf("%d scripts", n)
	}
	for _, bad := range []string{"<img", "alert(1)</script", "<!--"} {
		if strings.Contains(page, bad) {
			t.Errorf("%s is in the page", bad)
		}
	}
	var rounds []struct {
		Locks   []string
		Reasons []string
	}
	if err := json.Unmarshal([]byte(scripts.FindStringSubmatch(page)[2]), &rounds); err != nil || rounds[0].Locks[0] != name || rounds[0].Reasons[1] != name {
		t.Errorf("the script reads %+v, %v", rounds, err)
	}
}

// What the script gets: lists, also where there is nothing, and tokens that are not rounded.
func TestHTMLData(t *testing.T) {
	d := full(t)
	d.Timeline[0].Holds[1].Lost, d.Timeline[0].Holds[1].Told, d.Timeline[0].Holds[1].Reason = true, 31*thousandth, "it ran out"
	page := html(t, d)
	want := `[{"lasted":1000000,"locks":["hot","warm"],"reasons":["","it ran out"],` +
		`"holds":[[0,10000,90000,"18446744073709551615",2,1,-1,0,1],[0,15000,30000,"2",3,2,31000,1,1]],` +
		`"overlaps":[[0,15000,30000]],"faults":[],"stops":[],"deaths":[],"violations":[]}]`
	if got := scripts.FindStringSubmatch(page)[2]; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if page := html(t, sample()); strings.Contains(page, "<canvas") || strings.Contains(page, "<script") {
		t.Error("a page without rounds has something to look at")
	}
}

// A violation leads to its round, if that can be looked at; and rounds that have one are open.
func TestHTMLLinks(t *testing.T) {
	d := &report.Document{Timeline: []report.RoundTimeline{
		{Store: "redis", Round: 3, Seed: 44}, {Store: "file", Round: 3, Seed: 44}, {Store: "redis", Round: 4, Seed: 44}, {Store: "redis", Round: 3, Seed: 45},
	}}
	d.Timeline[2].Violations = []report.ViolationMark{{What: "late"}}
	page := html(t, d)
	for i, want := range []bool{true, false, true, false} { // the first one, too: so that something is to be seen
		if got := strings.Contains(page, fmt.Sprintf(`<details id="round-%d" open>`, i)); got != want {
			t.Errorf("round %d is open: %v", i, got)
		}
	}
	for i, r := range d.Timeline {
		d.Violations = []report.ViolationLine{{Store: r.Store, Round: r.Round, Seed: r.Seed}}
		if page := html(t, d); strings.Count(page, "<a href=") != 1 || !strings.Contains(page, fmt.Sprintf(`<a href="#round-%d">`, i)) {
			t.Errorf("the link to round %d is missing", i)
		}
	}
	d.Violations[0].Seed = 1
	if page := html(t, d); strings.Contains(page, "<a href=") {
		t.Error("there is a link to nothing")
	}
}

// What is wrong can be seen: in the table, among the controls, on top.
func TestHTMLVerdict(t *testing.T) {
	good, bad := html(t, sample()), html(t, broken())
	if strings.Contains(good, `class="bad"`) || !strings.Contains(good, `<p class="verdict passed">Passed: no violation in 1,311,655 operations`) {
		t.Error("a good run looks bad")
	}
	for _, want := range []string{`<tr class="bad"><th scope="row">worker-stop-inside</th>`, `<tr class="bad"><th scope="row">N9 (failed)</th>`, `<li>3 violations found.</li>`,
		`<code>holdfast torture check &#39;bundles/redis 7&#39;</code>`} {
		if !strings.Contains(bad, want) {
			t.Errorf("%s is not in the page", want)
		}
	}
	if strings.Contains(bad, "verdict passed") {
		t.Error("a bad run passed")
	}
}
