package main

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A bannedUse is a part of the standard library that algo and sim must not use.
type bannedUse struct {
	importPath string
	names      []string // none stands for the whole package
	except     bool     // names are the only ones allowed
	instead    string
}

// bannedUses keeps algo and sim free of clocks and of randomness that no seed
// governs: equal inputs must give equal bits.
func bannedUses() []bannedUse {
	return []bannedUse{
		{"time", []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick",
			"NewTimer", "NewTicker"}, false, "take the instant as a parameter (now unit.Tick)"},
		{"math/rand", nil, false, "draw from algo/rng"},
		{"crypto/rand", nil, false, "draw from algo/rng"},
		{"math/rand/v2", []string{"Rand", "PCG", "ChaCha8", "Source", "Zipf", "New", "NewPCG",
			"NewChaCha8", "NewZipf"}, true,
			"draw from algo/rng: top-level functions share a stream that no seed governs"},
	}
}

// checkBanned finds uses of what algo and sim must not use, and goroutines.
func checkBanned(f *file) []Violation {
	if !pure(f) {
		return nil
	}
	var found []Violation
	local := map[string]bannedUse{} // by the name under which the file imports
	for _, spec := range f.syntax.Imports {
		importPath, _ := strconv.Unquote(spec.Path.Value)
		for _, use := range bannedUses() {
			if use.importPath != importPath {
				continue
			}
			if len(use.names) == 0 {
				found = append(found, Violation{f.path, f.line(spec.Pos()), "banned",
					fmt.Sprintf("%s in algo or sim: %s", importPath, use.instead)})
				continue
			}
			local[localName(spec, importPath)] = use
		}
	}
	ast.Inspect(f.syntax, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.GoStmt:
			found = append(found, Violation{f.path, f.line(n.Pos()), "goroutine",
				"algo and sim start none: return the work to the driver as an output"})
		case *ast.SelectorExpr:
			base, ok := n.X.(*ast.Ident)
			if !ok {
				break
			}
			if use, ok := local[base.Name]; ok && slices.Contains(use.names, n.Sel.Name) != use.except {
				found = append(found, Violation{f.path, f.line(n.Pos()), "banned",
					fmt.Sprintf("%s.%s in algo or sim: %s", use.importPath, n.Sel.Name, use.instead)})
			}
		}
		return true
	})
	return found
}

// localName returns the name under which a file uses an import.
func localName(spec *ast.ImportSpec, importPath string) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	base := path.Base(importPath)
	if strings.HasPrefix(base, "v") && importPath != base { // a major version
		base = path.Base(path.Dir(importPath))
	}
	return base
}
