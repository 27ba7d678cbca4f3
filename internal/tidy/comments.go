package tidy

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
)

func checkPackageComments(t *Tree) []Finding {
	packages := make(map[string][]*GoFile)
	for _, f := range t.production() {
		packages[f.Import] = append(packages[f.Import], f)
	}
	var findings []Finding
	for _, importPath := range slices.Sorted(maps.Keys(packages)) {
		files := packages[importPath]
		documented := 0
		for _, f := range files {
			if f.AST.Doc == nil {
				continue
			}
			documented++
			if want := opening(f); !strings.HasPrefix(f.AST.Doc.Text(), want) {
				findings = append(findings, f.found(f.AST.Package, "its package comment does not begin with %q", want))
			}
		}
		if documented != 1 {
			f := files[0]
			findings = append(findings, f.found(f.AST.Package, "%d files of %s have a package comment; one should", documented, importPath))
		}
	}
	return findings
}

// opening is how a package comment begins.
func opening(f *GoFile) string {
	if f.AST.Name.Name == "main" {
		return "Command "
	}
	return "Package " + f.AST.Name.Name + " "
}

// selfEvident are methods that every reader knows.
var selfEvident = []string{"Error", "String"}

func checkDocComments(t *Tree) []Finding {
	var findings []Finding
	for _, f := range t.production() {
		for _, d := range f.AST.Decls {
			for _, name := range undocumented(d) {
				findings = append(findings, f.found(name.Pos(), "%s has no comment", name.Name))
			}
		}
	}
	return findings
}

// undocumented returns the exported names of a declaration that nothing explains. In a group one comment for all is enough, and
// so is one behind the name.
func undocumented(d ast.Decl) []*ast.Ident {
	var names []*ast.Ident
	switch d := d.(type) {
	case *ast.FuncDecl:
		method := d.Recv != nil
		if method && (!receiver(d).IsExported() || slices.Contains(selfEvident, d.Name.Name)) {
			return nil
		}
		if d.Name.IsExported() && d.Doc == nil {
			names = append(names, d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			// The comment of a group of types says nothing about each, unless they only are other names for documented ones.
			s, isType := spec.(*ast.TypeSpec)
			if d.Doc == nil || (isType && d.Lparen.IsValid() && !s.Assign.IsValid()) {
				names = append(names, undocumentedSpec(spec)...)
			}
		}
	}
	return names
}

func undocumentedSpec(spec ast.Spec) []*ast.Ident {
	var names []*ast.Ident
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Doc == nil && s.Comment == nil && s.Name.IsExported() {
			names = append(names, s.Name)
		}
	case *ast.ValueSpec:
		if s.Doc != nil || s.Comment != nil {
			return nil
		}
		for _, n := range s.Names {
			if n.IsExported() {
				names = append(names, n)
			}
		}
	}
	return names
}

// receiver returns the name of the type that a method belongs to.
func receiver(d *ast.FuncDecl) *ast.Ident {
	e := d.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.Ident:
			return x
		default:
			return ast.NewIdent("_")
		}
	}
}
