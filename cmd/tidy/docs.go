package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
)

// commentHeading matches a heading of a package comment.
var commentHeading = regexp.MustCompile(`(?m)^# `)

// checkPackageDocs finds packages without a package comment, and comments with headings elsewhere than in
// doc.go, where readers look for them.
func checkPackageDocs(files []*file) []Violation {
	var found []Violation
	first := map[string]*file{} // of each folder
	documented := map[string]bool{}
	for _, f := range files {
		if f.syntax == nil || f.test() {
			continue
		}
		folder := f.directory()
		if first[folder] == nil {
			first[folder] = f
		}
		text := f.syntax.Doc.Text()
		if strings.TrimSpace(text) != "" {
			documented[folder] = true
		}
		if commentHeading.MatchString(text) && path.Base(f.path) != "doc.go" {
			found = append(found, Violation{f.path, 1, "package-doc",
				"a package comment with headings: move it to doc.go"})
		}
	}
	for _, f := range files {
		folder := f.directory()
		if first[folder] == f && !documented[folder] {
			found = append(found, Violation{f.path, f.line(f.syntax.Package), "package-doc",
				fmt.Sprintf("package %s has no comment: say which question it answers", f.syntax.Name.Name)})
		}
	}
	return found
}

// checkDocs finds exported identifiers without a comment. Of a group, a comment
// of the group or on the line will do.
func checkDocs(f *file) []Violation {
	if f.syntax == nil || f.test() || ast.IsGenerated(f.syntax) {
		return nil
	}
	var found []Violation
	missing := func(name *ast.Ident) {
		found = append(found, Violation{f.path, f.line(name.Pos()), "doc",
			fmt.Sprintf("%s is exported without a comment: say what it is, its unit, range and errors",
				name.Name)})
	}
	for _, declaration := range f.syntax.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
				missing(d.Name)
			}
		case *ast.GenDecl:
			if d.Tok == token.IMPORT || d.Doc != nil {
				continue
			}
			for _, spec := range d.Specs {
				for _, name := range undocumented(spec) {
					missing(name)
				}
			}
		}
	}
	return found
}

// undocumented returns the exported names of a declaration without a comment.
func undocumented(spec ast.Spec) []*ast.Ident {
	var names, exported []*ast.Ident
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Doc == nil && s.Comment == nil {
			names = []*ast.Ident{s.Name}
		}
	case *ast.ValueSpec:
		if s.Doc == nil && s.Comment == nil {
			names = s.Names
		}
	}
	for _, name := range names {
		if name.IsExported() {
			exported = append(exported, name)
		}
	}
	return exported
}

// exportedReceiver reports whether users can see a function: it is not a method, or is
// a method of an exported type.
func exportedReceiver(function *ast.FuncDecl) bool {
	if function.Recv == nil {
		return true
	}
	receiver := function.Recv.List[0].Type
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
		case *ast.IndexExpr: // a generic type
			receiver = r.X
		case *ast.IndexListExpr:
			receiver = r.X
		case *ast.Ident:
			return r.IsExported()
		default:
			return true
		}
	}
}
