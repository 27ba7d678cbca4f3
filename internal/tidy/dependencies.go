package tidy

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

const (
	architecture = "ARCHITECTURE.md"
	section      = "## Dependencies"
)

// A dependency's line in the section: its module in code, and what it is for.
var reasoned = regexp.MustCompile("^- `([^`]+)`: \\S")

// checkDependencies compares what the modules require with the list in ARCHITECTURE.md, both ways. Our own modules, and what is only
// required for another dependency's sake, need no line.
func checkDependencies(t *Tree) []Finding {
	listed := listedDependencies(t.Text[architecture])
	required := make(map[string]bool)
	var findings []Finding
	for _, dir := range slices.Sorted(maps.Keys(t.Modules)) {
		for _, d := range t.Modules[dir].all("require") {
			if d.indirect || len(d.args) == 0 || ours(d.args[0]) {
				continue
			}
			name := d.args[0]
			required[name] = true
			if _, ok := listed[name]; !ok && dir != "." { // the core's are another rule's
				findings = append(findings, Finding{path.Join(dir, "go.mod"), d.line,
					fmt.Sprintf("no line in %q of %s begins with \"- `%s`: \" and gives a reason", section, architecture, name)})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		if !required[name] {
			findings = append(findings, Finding{architecture, listed[name], name + " is listed, but no module requires it"})
		}
	}
	return findings
}

// listedDependencies returns the dependencies that have a line with a reason, and where.
func listedDependencies(text string) map[string]int {
	listed := make(map[string]int)
	inside := false
	for n, line := range prose(text) {
		switch match := reasoned.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "## "):
			inside = line == section
		case inside && match != nil:
			listed[match[1]] = n
		}
	}
	return listed
}
