package report

import (
	"fmt"
	"html"
	"strings"
)

// A markup is a page that is being written. It is not a template of the standard library, because that keeps every method of every type
// in the program: three times the size, for all commands.
type markup struct{ strings.Builder }

// A plain text is ours, and written as it is.
type plain string

// add writes a piece of the page, a format of package fmt. Texts among the arguments are escaped.
func (m *markup) add(format string, args ...any) {
	for i, a := range args {
		if text, is := a.(string); is {
			args[i] = html.EscapeString(text)
		}
	}
	fmt.Fprintf(m, format, args...)
}

// lines writes commands.
func (m *markup) lines(commands []string) {
	m.add("<pre>")
	for _, c := range commands {
		m.add("$ %s\n", c)
	}
	m.add("</pre>\n")
}

// class is the attribute of a table's line.
func class(bad bool) plain {
	if bad {
		return ` class="bad"`
	}
	return ""
}

const pageHead = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="%s">
<title>%s</title>
<style>%s</style>
</head>
<body>
<header>
<h1>%s</h1>
`

func (m *markup) page(v *viewed, data []byte) {
	m.add(pageHead, policy(), v.Title, plain(pageCSS), v.Title)
	m.verdict(v)
	m.add("</header>\n<main>\n")
	m.run(v)
	for i, g := range v.Groups {
		m.group(i, g)
	}
	m.meanings(v.Meanings)
	m.controls(v)
	m.violations(v.Violations)
	m.rounds(v.Rounds)
	m.add("</main>\n")
	if len(v.Rounds) > 0 {
		m.add("<script type=\"application/json\" id=\"data\">%s</script>\n<script>%s</script>\n", plain(data), plain(script()))
	}
	m.add("</body>\n</html>\n")
}

func (m *markup) verdict(v *viewed) {
	if len(v.Problems) == 0 {
		m.add("<p class=\"verdict passed\">Passed: %s</p>\n", v.Passed)
		return
	}
	m.add("<ul class=\"verdict failed\">")
	for _, problem := range v.Problems {
		m.add("<li>%s</li>", problem)
	}
	m.add("</ul>\n")
}

func (m *markup) run(v *viewed) {
	m.add("<section aria-labelledby=\"run\">\n<h2 id=\"run\">What was run</h2>\n")
	if len(v.Command) > 0 {
		m.lines(v.Command)
	}
	m.add("<p>%s.", v.Ran)
	if v.Versions != "" {
		m.add(" With %s.", v.Versions)
	}
	m.add("</p>\n")
	if len(v.Bundles) > 0 {
		m.add("<p>The histories are kept, and can be checked again:</p>\n")
		m.lines(v.Bundles)
	}
	m.add("</section>\n")
}

func (m *markup) group(i int, g viewedGroup) {
	id := fmt.Sprintf("table-%d", i)
	m.add("<section aria-labelledby=\"%s\">\n<h2 id=\"%s\">%s</h2>\n<p>%s</p>\n", id, id, g.Store, g.About)
	m.add("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"%s\">\n<table>\n<thead><tr><th scope=\"col\">fault</th>", id)
	for _, h := range g.Head {
		m.add("<th scope=\"col\" title=\"%s\">%s</th>", h.Text, h.Name)
	}
	m.add("</tr></thead>\n<tbody>\n")
	for _, r := range g.Rows {
		m.add("<tr%s>", class(r.Bad))
		m.cells(r.Name, r.Cells)
	}
	m.add("</tbody>\n<tfoot><tr>")
	m.cells("all", g.Sum)
	m.add("</tfoot>\n</table>\n</div>\n</section>\n")
}

func (m *markup) cells(name string, cells []string) {
	m.add("<th scope=\"row\">%s</th>", name)
	for _, c := range cells {
		m.add("<td>%s</td>", c)
	}
	m.add("</tr>\n")
}

func (m *markup) meanings(all []Meaning) {
	if len(all) == 0 {
		return
	}
	m.add("<section aria-labelledby=\"meanings\">\n<h2 id=\"meanings\">What the numbers mean</h2>\n<dl>\n")
	for _, x := range all {
		m.add("<dt>%s</dt><dd>%s</dd>\n", x.Name, x.Text)
	}
	m.add("</dl>\n</section>\n")
}

func (m *markup) controls(v *viewed) {
	if len(v.Controls) == 0 {
		return
	}
	m.add("<section aria-labelledby=\"controls\">\n<h2 id=\"controls\">Broken locks that must be caught</h2>\n<p>%s</p>\n", v.AboutControls)
	m.add("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"controls\">\n<table class=\"words\">\n<thead><tr>")
	for _, name := range []string{"lock", "what is wrong with it", "caught", "by", "twin passed", "took"} {
		m.add("<th scope=\"col\">%s</th>", name)
	}
	m.add("</tr></thead>\n<tbody>\n")
	for _, c := range v.Controls {
		name := c.Name
		if c.Bad {
			name += " (failed)"
		}
		m.add("<tr%s>", class(c.Bad))
		of := func(n int) string { return fmt.Sprintf("%d of %d", n, c.Seeds) }
		m.cells(name, []string{c.Title, of(c.Caught), c.By, of(c.TwinPassed), c.Took})
	}
	m.add("</tbody>\n</table>\n</div>\n</section>\n")
}

func (m *markup) violations(all []viewedViolation) {
	if len(all) == 0 {
		return
	}
	m.add("<section aria-labelledby=\"violations\">\n<h2 id=\"violations\">Violations</h2>\n<ol>\n")
	for _, v := range all {
		m.add("<li><strong>%s</strong>: %s", v.Where, v.What)
		if v.Anchor != "" {
			m.add(" <a href=\"#%s\">Look at it.</a>", v.Anchor)
		}
		if v.Again != "" {
			m.add("<br><code>%s</code>", v.Again)
		}
		m.add("</li>\n")
	}
	m.add("</ol>\n</section>\n")
}
