//go:build unix

package readme

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Rule: what a driver says is beyond its promises stands in the page of its store, word for word, and nothing else does. What it
// puts in when it says it is … there.
func TestPagesHaveWhatIsBeyond(t *testing.T) {
	t.Parallel()
	for _, store := range []struct {
		page, source string
		least        int // texts
	}{
		{"redis.md", "redislock/internal/guard/promise.go", 10},
		{"redlock.md", "redislock/redlock/guarantees.go", 9},
	} {
		t.Run(store.page, func(t *testing.T) { compareBeyond(t, store.page, store.source, store.least) })
	}
}

func compareBeyond(t *testing.T, page, source string, least int) {
	file, err := parser.ParseFile(gotoken.NewFileSet(), filepath.Join(root, source), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "stores", page))
	if err != nil {
		t.Fatal(err)
	}
	said, shown := saidBeyond(file), shownBeyond(string(text))
	if len(said) < least {
		t.Errorf("only %d texts were found in %s: %q", len(said), source, slices.Sorted(maps.Keys(said)))
	}
	for text := range said {
		if !shown[text] {
			t.Errorf("it is said, but not in the page: %s", text)
		}
	}
	for text := range shown {
		if !said[text] {
			t.Errorf("it is in the page, but not said: %s", text)
		}
	}
}

// saidBeyond finds the texts of Guarantees.Beyond: in its first list, in calls of beyond, and in what is appended to it.
func saidBeyond(file *ast.File) map[string]bool {
	said := make(map[string]bool)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			list, ok := n.Value.(*ast.CompositeLit)
			if key, is := n.Key.(*ast.Ident); ok && is && key.Name == "Beyond" {
				for _, e := range list.Elts {
					said[wording(e)] = true
				}
			}
		case *ast.CallExpr:
			name, _ := n.Fun.(*ast.Ident)
			if name == nil || len(n.Args) == 0 {
				break
			}
			if name.Name == "beyond" {
				said[wording(n.Args[0])] = true
			}
			if to, ok := n.Args[0].(*ast.SelectorExpr); ok && name.Name == "append" && to.Sel.Name == "Beyond" && !n.Ellipsis.IsValid() {
				for _, e := range n.Args[1:] {
					said[wording(e)] = true
				}
			}
		}
		return true
	})
	delete(said, "…") // where beyond appends what it was called with
	return said
}

var verb = regexp.MustCompile(`%[a-z]`)

// wording is a text as the page shows it.
func wording(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return wording(e.X) + wording(e.Y)
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return verb.ReplaceAllString(text, "…")
		}
	}
	return "…"
}

// shownBeyond is the first column of the page's table.
func shownBeyond(page string) map[string]bool {
	shown := make(map[string]bool)
	_, page, _ = strings.Cut(page, "\n| beyond | said |\n|---|---|\n")
	for line := range strings.Lines(page) {
		text, isRow := strings.CutPrefix(line, "| ")
		if !isRow {
			break
		}
		text, _, _ = strings.Cut(text, " |")
		shown[text] = true
	}
	return shown
}
