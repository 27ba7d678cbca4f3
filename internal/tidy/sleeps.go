package tidy

import (
	"cmp"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
)

// sleeps finds sleeps in tests and in the kit. In a bubble of testing/synctest sleeping is how time passes, so there it is free;
// everywhere else a function, named as path:function, needs a reason in allowed. A millisecond between two looks at the condition
// of a loop is free too: nothing depends on how long it is.
func sleeps(t *Tree, allowed map[string]string) []Finding {
	packages := make(map[string][]*GoFile) // by directory: a package and its external tests share names
	for _, f := range t.Go {
		if f.Test || strings.HasPrefix(f.Path, "locktest/") {
			packages[path.Dir(f.Path)] = append(packages[path.Dir(f.Path)], f)
		}
	}
	var findings []Finding
	used := make(map[string]bool)
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		for _, s := range realSleeps(packages[dir]) {
			in := strings.TrimPrefix(s.in, ".")
			key := s.file.Path + ":" + in
			used[key] = true
			if allowed[key] == "" {
				findings = append(findings, s.file.found(s.node.Pos(), "time.Sleep in %s", cmp.Or(in, "no function")))
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(allowed)) {
		if !used[key] {
			findings = append(findings, Finding{key, 0, "it is allowed to sleep but does not: take it off the list"})
		}
	}
	return findings
}

// A use is a place in a file where a name stands.
type use struct {
	file   *GoFile
	node   ast.Node
	in     string // the function around it, or the method with a dot before it; "" outside of functions
	bubble bool   // it stands in an argument of something that runs it in a bubble
}

// realSleeps returns the uses of time.Sleep that can happen outside of a bubble. A function runs in bubbles only if it is used
// nowhere else: in what is passed to synctest.Test or to a function that wraps it, and in functions of the same kind. It goes by
// names, so methods of one name count as one, and so do a function and a variable.
func realSleeps(files []*GoFile) []use {
	wrappers := make(map[string]bool)
	for _, f := range files {
		for _, d := range f.AST.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.wraps(fn) {
				wrappers[fn.Name.Name] = true
			}
		}
	}
	uses := make(map[string][]use) // of the functions of these files
	var sleeping []use
	for _, f := range files {
		pauses := f.pauses()
		f.visit(wrappers, func(u use) {
			switch e := u.node.(type) {
			case *ast.Ident:
				uses[e.Name] = append(uses[e.Name], u)
			case *ast.SelectorExpr:
				uses["."+e.Sel.Name] = append(uses["."+e.Sel.Name], u)
				if f.refers(e, "time", "Sleep") && !pauses[e] {
					sleeping = append(sleeping, u)
				}
			}
		})
	}
	faked := make(map[string]bool)
	outside := func(u use) bool { return !u.bubble && !faked[u.in] }
	for grown := true; grown; {
		grown = false
		for name, where := range uses {
			elsewhere := func(u use) bool { return u.in != name && outside(u) } // a function that calls itself is called by others
			if !faked[name] && !slices.ContainsFunc(where, elsewhere) {
				faked[name], grown = true, true
			}
		}
	}
	return slices.DeleteFunc(sleeping, func(u use) bool { return !outside(u) })
}

// pauses returns the uses of time.Sleep that wait a millisecond in a loop with a condition.
func (f *GoFile) pauses() map[ast.Expr]bool {
	found := make(map[ast.Expr]bool)
	ast.Inspect(f.AST, func(n ast.Node) bool {
		loop, ok := n.(*ast.ForStmt)
		if !ok || loop.Cond == nil {
			return true
		}
		for _, s := range append([]ast.Stmt{loop.Post}, loop.Body.List...) {
			if s, ok := s.(*ast.ExprStmt); ok {
				call, ok := s.X.(*ast.CallExpr)
				if ok && f.refers(call.Fun, "time", "Sleep") && f.refers(call.Args[0], "time", "Millisecond") {
					found[call.Fun] = true
				}
			}
		}
		return true
	})
	return found
}

// wraps reports whether fn takes a function and calls synctest.Test.
func (f *GoFile) wraps(fn *ast.FuncDecl) bool {
	takes := slices.ContainsFunc(fn.Type.Params.List, func(p *ast.Field) bool {
		_, ok := p.Type.(*ast.FuncType)
		return ok
	})
	calls := false
	ast.Inspect(fn, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		calls = calls || ok && f.refers(call.Fun, "testing/synctest", "Test")
		return true
	})
	return takes && calls
}

// refers reports whether e is a name of another package.
func (f *GoFile) refers(e ast.Expr, pkg, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && slices.ContainsFunc(f.imports(), func(i importSpec) bool { return i.name == x.Name && i.path == pkg })
}

// visit calls yield for every identifier and selector of a file but the names of the functions that it declares.
func (f *GoFile) visit(wrappers map[string]bool, yield func(use)) {
	bubbles := func(fun ast.Expr) bool {
		name, ok := fun.(*ast.Ident)
		return ok && wrappers[name.Name] || f.refers(fun, "testing/synctest", "Test")
	}
	for _, d := range f.AST.Decls {
		here := use{file: f}
		root := ast.Node(d)
		if fn, ok := d.(*ast.FuncDecl); ok {
			if here.in = fn.Name.Name; fn.Recv != nil {
				here.in = "." + here.in
			}
			if fn.Body == nil {
				continue
			}
			root = fn.Body
		}
		var walk func(n ast.Node, bubble bool)
		walk = func(n ast.Node, bubble bool) {
			ast.Inspect(n, func(n ast.Node) bool {
				switch e := n.(type) {
				case *ast.CallExpr:
					walk(e.Fun, bubble)
					for _, arg := range e.Args {
						walk(arg, bubble || bubbles(e.Fun))
					}
					return false
				case *ast.SelectorExpr:
					here.node, here.bubble = e, bubble
					yield(here)
					walk(e.X, bubble)
					return false
				case *ast.Ident:
					here.node, here.bubble = e, bubble
					yield(here)
				}
				return true
			})
		}
		walk(root, false)
	}
}
