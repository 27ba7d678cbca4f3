package tidy

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Tree is the repository, read and parsed.
type Tree struct {
	Text    map[string]string  // every text file by its path
	Go      []*GoFile          // in order of their paths
	Modules map[string]*Module // by their directories
	exists  map[string]bool    // every file and directory
}

// A GoFile is a parsed source file.
type GoFile struct {
	Path   string
	Test   bool   // its name ends in _test.go
	Import string // the import path of its package
	Module string // the path of its module
	AST    *ast.File
	fset   *token.FileSet
}

func (f *GoFile) line(pos token.Pos) int { return f.fset.Position(pos).Line }

// An importSpec is an import with its path unquoted.
type importSpec struct {
	path string
	name string // as the file calls it
	pos  token.Pos
}

func (f *GoFile) imports() []importSpec {
	var specs []importSpec
	for _, i := range f.AST.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue // the parser has accepted it, so it cannot be
		}
		name := path.Base(p)
		if i.Name != nil {
			name = i.Name.Name
		}
		specs = append(specs, importSpec{p, name, i.Pos()})
	}
	return specs
}

// Read reads a tree. Directories that the go command does not look into, testdata and hidden ones, are left out, but for .ci.
func Read(root fs.FS) (*Tree, error) {
	t := &Tree{Text: make(map[string]string), Modules: make(map[string]*Module), exists: make(map[string]bool)}
	var sources []string
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if name == "testdata" || (strings.HasPrefix(name, ".") && name != "." && name != ".ci") {
				return fs.SkipDir
			}
		}
		t.exists[p] = true
		if !d.Type().IsRegular() {
			return nil
		}
		raw, err := fs.ReadFile(root, p)
		if err != nil {
			return err
		}
		if !utf8.Valid(raw) || bytes.IndexByte(raw, 0) >= 0 {
			return nil
		}
		t.Text[p] = string(raw)
		if strings.HasSuffix(p, ".go") {
			sources = append(sources, p)
		}
		if name == "go.mod" {
			t.Modules[path.Dir(p)] = parseModule(string(raw))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, p := range sources { // WalkDir goes in order
		if err := t.parse(p); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *Tree) parse(p string) error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, p, t.Text[p], parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("it does not parse: %w", err)
	}
	f := &GoFile{Path: p, Test: strings.HasSuffix(p, "_test.go"), AST: file, fset: fset}
	dir := path.Dir(p)
	root := dir
	for t.Modules[root] == nil {
		if root == "." {
			return fmt.Errorf("%s belongs to no module: there is no go.mod above it", p)
		}
		root = path.Dir(root)
	}
	f.Module = t.Modules[root].Path
	f.Import = path.Join(f.Module, strings.TrimPrefix(dir, root))
	t.Go = append(t.Go, f)
	return nil
}
