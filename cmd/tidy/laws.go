package main

import (
	"fmt"
	"go/ast"
	"regexp"
)

// testName matches the functions that go test runs.
var testName = regexp.MustCompile(`^(Test|Fuzz|Example|Benchmark)`)

// addTests adds the tests of a file.
func (t *tree) addTests(f *file) {
	folder := f.directory()
	if t.tests[folder] == nil {
		t.tests[folder] = map[string]bool{}
	}
	for _, declaration := range f.syntax.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if ok && function.Recv == nil && testName.MatchString(function.Name.Name) {
			t.tests[folder][function.Name.Name] = true
		}
	}
}

// checkLaws finds laws of the map without a test, and tests that are in none of the packages that the law
// names. Each of the packages has at least one of the tests.
func checkLaws(m *architecture, t *tree) []Violation {
	var found []Violation
	for _, r := range m.tables[lawsTable] {
		report := func(format string, a ...any) {
			found = append(found, Violation{mapFile, r.line, "law", fmt.Sprintf(format, a...)})
		}
		packages, tests := r.names(1), r.names(2)
		if len(packages) == 0 || len(tests) == 0 {
			report("a law without a test is a wish: name the package and the test that would fail")
			continue
		}
		used := map[string]bool{}
		for _, test := range tests {
			exists := false
			for _, folder := range packages {
				if t.tests[folder][test] {
					exists, used[folder] = true, true
				}
			}
			if !exists {
				report("%s is no test of these packages", test)
			}
		}
		for _, folder := range packages {
			if !used[folder] {
				report("%s has none of the tests", folder)
			}
		}
	}
	return found
}
