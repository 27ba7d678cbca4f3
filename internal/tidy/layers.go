package tidy

import (
	"strings"
)

// production returns the files that end up in programs.
func (t *Tree) production() []*GoFile {
	var files []*GoFile
	for _, f := range t.Go {
		if !f.Test {
			files = append(files, f)
		}
	}
	return files
}

func ours(importPath string) bool {
	return importPath == home || strings.HasPrefix(importPath, home+"/")
}

// family is the first element of one of our import paths: redislock for redislock/redlock too, "" for the core's root.
func family(importPath string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(importPath, home), "/"), "/")
	return first
}

// isDriver knows drivers by the name that all of them have: …lock.
func isDriver(family string) bool { return strings.HasSuffix(family, "lock") }

// checkImports finds the imports of ours that are not allowed for the files that it concerns.
func checkImports(t *Tree, concerns func(*GoFile) bool, allowed func(f *GoFile, imported string) bool) []Finding {
	var findings []Finding
	for _, f := range t.production() {
		if !concerns(f) {
			continue
		}
		for _, i := range f.imports() {
			if ours(i.path) && !allowed(f, i.path) {
				findings = append(findings, f.found(i.pos, "%s imports %s", f.Import, i.path))
			}
		}
	}
	return findings
}

func checkDriverImports(t *Tree) []Finding {
	return checkImports(t,
		func(f *GoFile) bool { return isDriver(family(f.Import)) },
		func(f *GoFile, imported string) bool {
			return family(imported) == "driver" || family(imported) == family(f.Import)
		})
}

func checkContractImports(t *Tree) []Finding {
	return checkImports(t,
		func(f *GoFile) bool { return family(f.Import) == "driver" },
		func(_ *GoFile, imported string) bool { return family(imported) == "driver" })
}

func checkCoreImports(t *Tree) []Finding {
	return checkImports(t,
		func(f *GoFile) bool { return f.Import == home },
		func(_ *GoFile, imported string) bool {
			return family(imported) == "driver" || family(imported) == "internal"
		})
}

// checkInternalImports finds what the compiler lets pass: by its rule holdfast.dev/internal/x is open to all paths below
// holdfast.dev, so to all our modules.
func checkInternalImports(t *Tree) []Finding {
	modules := make(map[string]bool)
	for _, m := range t.Modules {
		modules[m.Path] = true
	}
	return checkImports(t,
		func(*GoFile) bool { return true },
		func(f *GoFile, imported string) bool {
			isInternal := strings.Contains(imported+"/", "/internal/")
			return !isInternal || moduleOf(modules, imported) == f.Module
		})
}

// moduleOf returns the module that an import path belongs to: the longest that it begins with.
func moduleOf(modules map[string]bool, importPath string) string {
	for p := importPath; ; p = p[:strings.LastIndexByte(p, '/')] {
		if modules[p] || !strings.Contains(p, "/") {
			return p
		}
	}
}

func checkProgramImports(t *Tree) []Finding {
	return checkImports(t,
		func(f *GoFile) bool { return family(f.Import) == "cmd" },
		func(_ *GoFile, imported string) bool { return family(imported) != "locktest" })
}

func checkTestingImports(t *Tree) []Finding {
	var findings []Finding
	for _, f := range t.production() {
		below := func(dir string) bool { return strings.HasPrefix(f.Path, dir) }
		if below("locktest/") && !below("locktest/servers/") && !below("locktest/remote/") {
			continue
		}
		for _, i := range f.imports() {
			if i.path == "testing" || strings.HasPrefix(i.path, "testing/") {
				findings = append(findings, f.found(i.pos, "%s imports %s", f.Import, i.path))
			}
		}
	}
	return findings
}
