package tidy

import (
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

const (
	maxFileLines = 400
	maxFuncLines = 80
)

var hollow = []string{"util", "utils", "common", "helper", "helpers", "misc"}

func checkPackageNames(t *Tree) []Finding {
	var findings []Finding
	for _, f := range t.Go {
		name := strings.TrimSuffix(f.AST.Name.Name, "_test")
		for _, n := range []string{name, path.Base(f.Import)} {
			if slices.Contains(hollow, n) {
				findings = append(findings, f.found(f.AST.Package, "a package named %s", n))
				break
			}
		}
	}
	return findings
}

func checkSizes(t *Tree) []Finding {
	var findings []Finding
	for _, f := range t.Go {
		if n := strings.Count(t.Text[f.Path], "\n"); n > maxFileLines {
			findings = append(findings, f.found(f.AST.Package, "%d lines, %d are allowed", n, maxFileLines))
		}
		for _, d := range f.AST.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := f.line(fn.End()) - f.line(fn.Pos()) + 1; n > maxFuncLines {
				findings = append(findings, f.found(fn.Pos(), "%s has %d lines, %d are allowed", fn.Name.Name, n, maxFuncLines))
			}
		}
	}
	return findings
}

// The patterns are written so that they do not match themselves.
var (
	unfinished = regexp.MustCompile(`\b(TO[D]O|FIX[M]E|X{3})\b`)

	// A path from the root, so nothing that could be part of a name, a URL's path or a relative path stands before it.
	machinePath = regexp.MustCompile(`(?:^|[^\w.)}-])/(?:home|root|work|Users)/\w+|[A-Z]:\\+Users\\\w+`)
)

func checkUnfinished(t *Tree) []Finding { return grep(t, unfinished, "TOD", "FIXM", "XX") }

// checkMachinePaths lets examples pass: they live in the home of "me".
func checkMachinePaths(t *Tree) []Finding {
	return slices.DeleteFunc(grep(t, machinePath, "/home/", "/root/", "/work/", "/Users/", `\Users\`), func(f Finding) bool {
		return strings.HasSuffix(f.Text, "/home/me") || strings.HasSuffix(f.Text, "/Users/me") || strings.HasSuffix(f.Text, `\Users\me`)
	})
}

// grep finds lines of text files, other than check sums. Each match contains one of the hints: they are looked for first, because
// patterns are slow.
func grep(t *Tree, pattern *regexp.Regexp, hints ...string) []Finding {
	var findings []Finding
	for _, p := range slices.Sorted(maps.Keys(t.Text)) {
		if strings.HasSuffix(p, ".sum") {
			continue
		}
		n := 0
		for line := range strings.Lines(t.Text[p]) {
			n++
			if !slices.ContainsFunc(hints, func(hint string) bool { return strings.Contains(line, hint) }) {
				continue
			}
			if match := pattern.FindString(line); match != "" {
				findings = append(findings, Finding{p, n, strings.TrimSpace(match)})
			}
		}
	}
	return findings
}
