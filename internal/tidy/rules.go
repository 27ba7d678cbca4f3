package tidy

import (
	"fmt"
	"go/token"
)

// A Rule is one thing that holds for the whole repository.
type Rule struct {
	Name  string
	Why   string // printed with what was found, so that nobody has to look for the reason
	Check func(*Tree) []Finding
}

// A Finding is a place where a rule does not hold.
type Finding struct {
	Path string
	Line int // 0: the file as a whole
	Text string
}

func (f Finding) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s", f.Path, f.Text)
	}
	return fmt.Sprintf("%s:%d: %s", f.Path, f.Line, f.Text)
}

// Rules returns all rules. maySleep gives the reasons of those functions, named as path:function, that may call time.Sleep in tests.
func Rules(maySleep map[string]string) []Rule {
	checkSleeps := func(t *Tree) []Finding { return sleeps(t, maySleep) }
	return []Rule{
		{"no-requires", "who uses one driver must not get the dependencies of another: the core has none", checkRequires},
		{"go-version", "all modules ask for the same language version, and for no particular patch of it", checkGoVersion},
		{"workspace", "go test work sees only what go.work names; module paths follow directories", checkWorkspace},
		{"dependencies", "a dependency is a decision: ARCHITECTURE.md names each, and why it is worth its price", checkDependencies},

		{"driver-imports", "a driver stands alone: of ours it imports package driver and its own family", checkDriverImports},
		{"contract-imports", "package driver is the bottom of everything: it imports nothing of ours", checkContractImports},
		{"core-imports", "the core knows no driver, guard or kit: of ours it imports package driver and internal ones", checkCoreImports},
		{"internal-imports", "what another module keeps internal may change without notice", checkInternalImports},
		{"program-imports", "programs are for users: they link neither the kit nor its servers", checkProgramImports},
		{"testing-imports", "programs must not link package testing; only the kit may, and not its servers and stores", checkTestingImports},

		{"package-names", "a name says what is inside", checkPackageNames},
		{"sizes", "a file tells one story, a function fits a screen", checkSizes},
		{"unfinished", "finish it, or open an issue", checkUnfinished},
		{"machine-paths", "paths of one machine mean nothing on another", checkMachinePaths},
		{"sleeps", "a test that sleeps is slow, and fails on a busy machine: wait for a condition, or use testing/synctest", checkSleeps},

		{"package-comments", "a reader begins with the package comment", checkPackageComments},
		{"doc-comments", "what is exported is explained", checkDocComments},
		{"links", "a link leads somewhere", checkLinks},
		{"changelog", "users read what has changed", checkChangelog},
	}
}

// found returns a finding at a position in a Go file.
func (f *GoFile) found(pos token.Pos, format string, args ...any) Finding {
	return Finding{f.Path, f.line(pos), fmt.Sprintf(format, args...)}
}
