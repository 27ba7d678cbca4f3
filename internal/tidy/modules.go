package tidy

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// home is the path of the core module, and the prefix of all others.
const home = "holdfast.dev"

const goVersion = "1.26.0"

// A Module is what a go.mod or go.work says, as far as the rules ask. Comments are dropped, but for the mark of an indirect one.
type Module struct {
	Path  string
	lines []directive
}

// directive is one line: its verb, also where that stands before a block, and its arguments.
type directive struct {
	verb     string
	args     []string
	line     int
	indirect bool // required for another dependency's sake
}

func parseModule(text string) *Module {
	m := new(Module)
	block, n := "", 0
	for line := range strings.Lines(text) {
		n++
		line, comment, _ := strings.Cut(line, "//")
		indirect := strings.TrimSpace(comment) == "indirect"
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case block != "" && fields[0] == ")":
			block = ""
		case block != "":
			m.lines = append(m.lines, directive{block, fields, n, indirect})
		case len(fields) > 1 && fields[1] == "(":
			block = fields[0]
		default:
			m.lines = append(m.lines, directive{fields[0], fields[1:], n, indirect})
		}
	}
	for _, d := range m.lines {
		if d.verb == "module" && len(d.args) == 1 {
			m.Path = d.args[0]
		}
	}
	return m
}

func (m *Module) all(verb string) []directive {
	var found []directive
	for _, d := range m.lines {
		if d.verb == verb {
			found = append(found, d)
		}
	}
	return found
}

func checkRequires(t *Tree) []Finding {
	core := t.Modules["."]
	if core == nil {
		return []Finding{{"go.mod", 0, "there is none"}}
	}
	var findings []Finding
	for _, d := range core.all("require") {
		findings = append(findings, Finding{"go.mod", d.line, "the core requires " + strings.Join(d.args, " ")})
	}
	return findings
}

func checkGoVersion(t *Tree) []Finding {
	files := map[string]*Module{"go.work": parseModule(t.Text["go.work"])}
	for dir, m := range t.Modules {
		files[path.Join(dir, "go.mod")] = m
	}
	var findings []Finding
	for _, p := range slices.Sorted(maps.Keys(files)) {
		says := files[p].all("go")
		if len(says) != 1 || !slices.Equal(says[0].args, []string{goVersion}) {
			findings = append(findings, Finding{p, 0, "it does not say go " + goVersion})
		}
		for _, d := range files[p].all("toolchain") {
			findings = append(findings, Finding{p, d.line, "a toolchain line pins a patch"})
		}
	}
	return findings
}

func checkWorkspace(t *Tree) []Finding {
	var findings []Finding
	used := make(map[string]bool)
	for _, d := range parseModule(t.Text["go.work"]).all("use") {
		dir := path.Clean(strings.Join(d.args, " "))
		used[dir] = true
		if t.Modules[dir] == nil {
			findings = append(findings, Finding{"go.work", d.line, dir + " is used but has no go.mod"})
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(t.Modules)) {
		file := path.Join(dir, "go.mod")
		if !used[dir] {
			findings = append(findings, Finding{file, 0, "its module is not used in go.work"})
		}
		if want := path.Join(home, dir); t.Modules[dir].Path != want {
			findings = append(findings, Finding{file, 0, "its module is not " + want})
		}
	}
	return findings
}
