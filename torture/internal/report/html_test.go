package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
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
	page := html(t, full(t))
	want := `[{"lasted":1000000,"locks":["hot","warm"],"reasons":[""],` +
		`"holds":[[0,10000,90000,"18446744073709551615",2,1,-1,0,1],[0,15000,30000,"2",3,2,-1,0,1]],` +
		`"overlaps":[[0,15000,30000]],"faults":[],"stops":[],"deaths":[],"violations":[]}]`
	if got := scripts.FindStringSubmatch(page)[2]; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if page := html(t, sample()); strings.Contains(page, "<canvas") || strings.Contains(page, "<script") {
		t.Error("a page without rounds has something to look at")
	}
}

// A violation leads to its round, if that can be looked at.
func TestHTMLLinks(t *testing.T) {
	d := full(t)
	d.Violations[1].Round, d.Violations[1].Seed = 3, 44
	if page := html(t, d); strings.Count(page, `<a href="#round-0">`) != 1 || !strings.Contains(page, `<details id="round-0"`) {
		t.Error("the link, or what it leads to, is missing")
	}
}
