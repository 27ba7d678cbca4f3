package tidy

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// A scenario is a made-up change to the clean tree of testdata/clean.txt, and what the rules must then find.
//
//	=== its name
//	a finding, as it is printed; none: the rule must stay silent
//	-- path of a file --
//	its text; "@blank n" stands for n empty lines
//	-- path of another -- or -- path removed --
type scenario struct {
	name  string
	want  []string
	files map[string]string
	gone  []string
}

func parseScenarios(t *testing.T, file string) []*scenario {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []*scenario
	var s *scenario
	path := ""
	for line := range strings.Lines(string(raw)) {
		text := strings.TrimSpace(line)
		inner, isFile := strings.CutPrefix(text, "-- ")
		inner, ends := strings.CutSuffix(inner, " --")
		if name, ok := strings.CutPrefix(text, "=== "); ok || s == nil {
			s = &scenario{name: name, files: make(map[string]string)}
			all, path = append(all, s), ""
			continue
		}
		removed, isRemoved := strings.CutSuffix(inner, " removed")
		blank, isBlank := strings.CutPrefix(text, "@blank ")
		switch {
		case isFile && ends && isRemoved:
			s.gone = append(s.gone, removed)
		case isFile && ends:
			path = inner
			s.files[path] = ""
		case path == "" && text != "":
			s.want = append(s.want, text)
		case path != "" && isBlank:
			n, err := strconv.Atoi(blank)
			if err != nil {
				t.Fatal(err)
			}
			s.files[path] += strings.Repeat("\n", n)
		case path != "":
			s.files[path] += line
		}
	}
	return all
}

// tree is the clean tree changed by s.
func (s *scenario) tree(t *testing.T) (*Tree, error) {
	t.Helper()
	files := parseScenarios(t, "testdata/clean.txt")[0].files
	maps.Copy(files, s.files)
	for _, p := range s.gone {
		delete(files, p)
	}
	root := make(fstest.MapFS)
	for p, text := range files {
		root[p] = &fstest.MapFile{Data: []byte(text)}
	}
	return Read(root)
}

// check runs all rules, and returns what they found as "rule: finding".
func check(tree *Tree) []string {
	var all []string
	for _, rule := range Rules(nil) {
		for _, f := range rule.Check(tree) {
			all = append(all, fmt.Sprintf("%s: %v", rule.Name, f))
		}
	}
	return all
}

func TestCleanTree(t *testing.T) {
	tree, err := new(scenario).tree(t)
	if err != nil {
		t.Fatal(err)
	}
	if got := check(tree); got != nil {
		t.Errorf("found in the clean tree:\n%s", strings.Join(got, "\n"))
	}
	if len(tree.Go) < 10 || len(tree.Modules) != 2 {
		t.Errorf("the clean tree has %d Go files and %d modules: was it read?", len(tree.Go), len(tree.Modules))
	}
}

// TestEveryRuleCanFail breaks each rule on purpose. It alone must notice, and nothing more than what is wanted.
func TestEveryRuleCanFail(t *testing.T) {
	for _, rule := range Rules(nil) {
		failed := false
		for _, s := range parseScenarios(t, filepath.Join("testdata", rule.Name+".txt")) {
			t.Run(rule.Name+"/"+s.name, func(t *testing.T) {
				tree, err := s.tree(t)
				if err != nil {
					t.Fatal(err)
				}
				var want []string
				for _, w := range s.want {
					want = append(want, rule.Name+": "+w)
					failed = true
				}
				if got := check(tree); !slices.Equal(got, want) {
					t.Errorf("found:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			})
		}
		if !failed {
			t.Errorf("%s: no tree breaks it", rule.Name)
		}
		if rule.Why == "" {
			t.Errorf("%s: it gives no reason", rule.Name)
		}
	}
}

func TestAllowedSleeps(t *testing.T) {
	s := scenario{files: map[string]string{"x_test.go": "package holdfast\n\nimport \"time\"\n\nfunc x() { time.Sleep(1) }\n"}}
	tree, err := s.tree(t)
	if err != nil {
		t.Fatal(err)
	}
	if got := sleeps(tree, map[string]string{"x_test.go:x": "a reason"}); len(got) != 0 {
		t.Errorf("allowed, but found: %v", got)
	}
	if got := sleeps(tree, map[string]string{"x_test.go:x": ""}); len(got) != 1 {
		t.Errorf("allowed without a reason, found: %v", got)
	}
	got := sleeps(tree, map[string]string{"x_test.go:x": "a reason", "x_test.go:y": "a reason"})
	if len(got) != 1 || got[0].Path != "x_test.go:y" {
		t.Errorf("want that y does not need to be on the list, found: %v", got)
	}
}

func TestTreesThatCannotBeRead(t *testing.T) {
	for name, s := range map[string]*scenario{
		"it does not parse":         {files: map[string]string{"x.go": "package holdfast\n\nfunc {\n"}},
		"x.go belongs to no module": {files: map[string]string{"x.go": "package x\n"}, gone: []string{"go.mod"}},
	} {
		if _, err := s.tree(t); err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(name, "x.go ")) {
			t.Errorf("got %v, want %q", err, name)
		}
	}
}
