package exec

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// methodsMax is the largest number of methods of a type of this package: a type that needs more is two types.
const methodsMax = 12

// Every type of the package answers one question.
func TestTypesHaveFewMethods(t *testing.T) {
	count := map[string]int{}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				of := f.Recv.List[0].Type
				if pointer, ok := of.(*ast.StarExpr); ok {
					of = pointer.X
				}
				count[of.(*ast.Ident).Name]++
			}
		}
	}
	if count["Executor"] < 5 {
		t.Errorf("%d methods of Executor were found", count["Executor"])
	}
	for name, n := range count {
		if n > methodsMax {
			t.Errorf("%s has %d methods, want at most %d", name, n, methodsMax)
		}
	}
}
