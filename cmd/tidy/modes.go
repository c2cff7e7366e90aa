package main

import (
	"fmt"
	"go/ast"
	"reflect"
	"slices"
	"strconv"

	"tandem/algo/protocol/pace"
)

// modeNames returns what packages job and pace call the modes that have roles: the types of their rules.
func modeNames() (names []string) {
	for _, mode := range pace.Modes() {
		rule, err := pace.New(mode, pace.Settings{})
		if err != nil {
			panic(fmt.Sprintf("tidy: mode %s with its defaults: %v", mode, err))
		}
		names = append(names, reflect.Indirect(reflect.ValueOf(rule)).Type().Name())
	}
	return names
}

// checkModeNames finds drivers that know a mode by its name. They ask its rule
// instead, so that a mode is one file of algo/protocol/pace.
func checkModeNames(f *file) []Violation {
	if f.syntax == nil || f.test() || !within(f.path, "sim") && !within(f.path, "runtime") {
		return nil
	}
	var knows []string // the names under which the file imports job and pace
	for _, spec := range f.syntax.Imports {
		importPath, _ := strconv.Unquote(spec.Path.Value)
		if importPath == "tandem/algo/job" || importPath == "tandem/algo/protocol/pace" {
			knows = append(knows, localName(spec, importPath))
		}
	}
	var found []Violation
	modes := modeNames()
	ast.Inspect(f.syntax, func(node ast.Node) bool {
		n, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		base, ok := n.X.(*ast.Ident)
		if ok && slices.Contains(knows, base.Name) && slices.Contains(modes, n.Sel.Name) {
			found = append(found, Violation{f.path, f.line(n.Pos()), "mode-name",
				fmt.Sprintf("%s.%s in a driver: ask the mode's pace.Rule", base.Name, n.Sel.Name)})
		}
		return true
	})
	return found
}
