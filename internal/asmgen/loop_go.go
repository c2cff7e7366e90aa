package main

import (
	"fmt"
	"strings"
)

// A loop runs a program over the elements of slices, or over the rows and columns of
// matrices.
type loop struct {
	name    string
	formula string
	// matrix loops run over the rows and columns of matrices of one shape, which have
	// the same stride but for one. Others run over slices as long as the first.
	matrix bool
	// arguments are the names of float32 slices, separated by spaces. In matrix loops
	// ":column" marks a row that belongs to every row of the matrices, such as a bias
	// or a sum, and ":other" a matrix with a stride of its own. ":column64" marks such
	// a row of float64, or in other loops a slice of float64.
	arguments string
	scalars   string // float32 arguments
	// double loops compute in float64: a float32 becomes a float64 when it is loaded.
	// Instructions that end in 32, and the result of round, are float32.
	double  bool
	program string
}

// An argument is a slice.
type argument struct {
	name   string
	column bool // the same in every row
	wide   bool // float64
	other  bool // has a stride of its own
}

func (l loop) parse() (all []argument) {
	for _, word := range strings.Fields(l.arguments) {
		name, kind, _ := strings.Cut(word, ":")
		all = append(all, argument{
			name:   name,
			column: strings.HasPrefix(kind, "column"),
			wide:   kind == "column64",
			other:  kind == "other",
		})
	}
	return all
}

// counts returns the names of the integer arguments.
func (l loop) counts() []string {
	switch {
	case !l.matrix:
		return nil
	case strings.Contains(l.arguments, ":other"):
		return []string{"rows", "cols", "stride", "other"}
	}
	return []string{"rows", "cols", "stride"}
}

// parameters returns the Go parameters of a loop.
func (l loop) parameters() string {
	var groups []string
	group := func(names []string, kind string) {
		if len(names) > 0 {
			groups = append(groups, strings.Join(names, ", ")+" "+kind)
		}
	}
	group(l.counts(), "int")
	var names []string // neighbours of one type
	kind := ""
	for _, a := range l.parse() {
		of := "[]float32"
		if a.wide {
			of = "[]float64"
		}
		if of != kind {
			group(names, kind)
			names, kind = nil, of
		}
		names = append(names, a.name)
	}
	group(names, kind)
	group(strings.Fields(l.scalars), "float32")
	return strings.Join(groups, ", ")
}

// A loopPackage is a package with loops.
type loopPackage struct {
	name      string
	loops     []loop
	constants []constant // of its programs
}

// table returns the type that holds the loops of one set.
func (p loopPackage) table() []byte {
	s := &source{}
	s.label("%spackage %s\n", header, p.name)
	s.label("// loops are the loops of this package in one set of instructions. Matrices have")
	s.label("// rows × cols elements, and their rows begin stride elements apart; the arguments after")
	s.label("// the first slice are at least as long as the loop needs, which the caller checks.")
	s.label("type loops struct {")
	for _, l := range p.loops {
		s.label("\t// %s\n\t%s func(%s)", l.formula, l.name, l.parameters())
	}
	s.label("}")
	return gofmt(s.String())
}

// declarations returns the Go side of the assembly: a declaration of every loop, and
// a table for each set.
func (p loopPackage) declarations() []byte {
	s := &source{}
	s.label("%s%spackage %s", header, amd64Only, p.name)
	for _, set := range sets {
		s.label("\nvar loops%s = loops{", set.Name)
		for _, l := range p.loops {
			s.label("\t%s: %[1]s%s,", l.name, set.Name)
		}
		s.label("}")
	}
	for _, l := range p.loops {
		for _, set := range sets {
			s.label("\n//go:noescape\nfunc %s%s(%s)", l.name, set.Name, l.parameters())
		}
	}
	return gofmt(s.String())
}

// signature returns the Go declaration of a loop in one set.
func (l loop) signature(s set) string {
	return fmt.Sprintf("func %s%s(%s)", l.name, s.Name, l.parameters())
}
