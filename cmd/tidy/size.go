package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"strings"
)

const (
	// fileBytesMax keeps data and binaries out of the repository.
	fileBytesMax = 1 << 20
	// fileLinesMax is where a Go file surely holds more than one idea.
	fileLinesMax = 800
	// functionLinesMax is what fits on a screen.
	functionLinesMax = 70
	// longBecause begins the line of a function's comment that says why the
	// function is longer, as a kernel whose derivation reads top to bottom.
	longBecause = "Long because"
)

// checkSize finds files that are too large.
func checkSize(f *file) []Violation {
	if f.size > fileBytesMax {
		return []Violation{{f.path, 1, "file-size",
			fmt.Sprintf("%d bytes, at most %d: generate or download the data, keep binaries out", f.size,
				fileBytesMax)}}
	}
	if f.syntax == nil || ast.IsGenerated(f.syntax) {
		return nil
	}
	if lines := bytes.Count(f.text, []byte("\n")); lines > fileLinesMax {
		return []Violation{{f.path, fileLinesMax + 1, "file-length",
			fmt.Sprintf("%d lines, at most %d: split by idea", lines, fileLinesMax)}}
	}
	return nil
}

// checkFunctionLength finds functions that are too long and do not say why.
func checkFunctionLength(f *file) []Violation {
	if f.syntax == nil || f.test() || ast.IsGenerated(f.syntax) {
		return nil
	}
	var found []Violation
	for _, declaration := range f.syntax.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		first := f.line(function.Pos())
		lines := f.line(function.End()) - first + 1
		if lines <= functionLinesMax || strings.Contains(function.Doc.Text(), longBecause) {
			continue
		}
		found = append(found, Violation{f.path, first, "function-length",
			fmt.Sprintf("%s has %d lines, at most %d: split it, or write a line %q into its comment",
				function.Name.Name, lines, functionLinesMax, longBecause+" …")})
	}
	return found
}
