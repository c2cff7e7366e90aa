package main

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// orderFree begins the comment at the end of a line that ranges over a map and
// says why the order cannot be seen.
const orderFree = "order-free: "

// checkMapOrder finds loops of algo and sim over maps, whose order differs from
// run to run. Whether an expression is a map is a question of types, so the
// packages are type-checked against the export data of what they import.
func checkMapOrder(packages []pkg, files []*file) []Violation {
	exports := make(map[string]string, len(packages))
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	set := token.NewFileSet()
	imports := importer.ForCompiler(set, "gc", func(importPath string) (io.ReadCloser, error) {
		if exports[importPath] == "" {
			return nil, fmt.Errorf("no export data of %s", importPath)
		}
		return os.Open(exports[importPath])
	})
	byPath := make(map[string]*file, len(files))
	for _, f := range files {
		byPath[f.path] = f
	}
	var found []Violation
	for _, p := range packages {
		folder, ours := local(p.ImportPath)
		if !ours || !within(folder, "algo") && !within(folder, "sim") {
			continue
		}
		var syntax []*ast.File
		for _, name := range p.GoFiles {
			f := byPath[path.Join(folder, filepath.ToSlash(name))]
			if f == nil {
				continue // written by the go command, as by cgo
			}
			// Parsed once more, into the file set that all packages share.
			if parsed, err := parser.ParseFile(set, f.path, f.text, parser.ParseComments); err == nil {
				syntax = append(syntax, parsed)
			}
		}
		found = append(found, mapLoops(set, syntax, imports)...)
	}
	return found
}

// mapLoops finds the loops over maps in the files of one package.
func mapLoops(set *token.FileSet, syntax []*ast.File, imports types.Importer) []Violation {
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	// Faults in types are the compiler's to report, not ours.
	config := types.Config{Importer: imports, Error: func(error) {}}
	_, _ = config.Check("checked", set, syntax, info)

	var found []Violation
	for _, parsed := range syntax {
		reasons := lineComments(set, parsed)
		ast.Inspect(parsed, func(node ast.Node) bool {
			loop, ok := node.(*ast.RangeStmt)
			if !ok || !unordered(info, loop.X) {
				return true
			}
			at := set.Position(loop.Pos())
			why, given := strings.CutPrefix(reasons[at.Line], orderFree)
			if !given || strings.TrimSpace(why) == "" {
				found = append(found, Violation{at.Filename, at.Line, "map-order",
					"a loop over a map runs in another order each time: sort the keys, or end the line " +
						"with // " + orderFree + "<why>"})
			}
			return true
		})
	}
	return found
}

// unordered reports whether a loop over an expression has no fixed order: a map,
// or its iterators from package maps.
func unordered(info *types.Info, ranged ast.Expr) bool {
	if call, ok := ast.Unparen(ranged).(*ast.CallExpr); ok {
		if function, ok := call.Fun.(*ast.SelectorExpr); ok {
			base, ok := function.X.(*ast.Ident)
			return ok && base.Name == "maps" &&
				strings.Contains(" Keys Values All ", " "+function.Sel.Name+" ")
		}
	}
	ranges := info.Types[ranged].Type
	if ranges == nil {
		return false
	}
	_, isMap := ranges.Underlying().(*types.Map)
	return isMap
}

// lineComments returns the text of the comments of a file by their line.
func lineComments(set *token.FileSet, parsed *ast.File) map[int]string {
	comments := map[int]string{}
	for _, group := range parsed.Comments {
		for _, comment := range group.List {
			text := strings.TrimSpace(strings.TrimPrefix(comment.Text, "//"))
			comments[set.Position(comment.Pos()).Line] = text
		}
	}
	return comments
}
