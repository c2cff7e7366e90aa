package kernel

import "tandem/algo/numeric/isa"

//go:generate go run ./gen/elementwise

// set is what the kernels use; only tests change it. A kernel that works element
// by element is written twice: in Go, below the test of vectors, and as a program
// of gen/elementwise, with the same bits.
var set = isa.Best()

// vectors tells whether a kernel over so many elements goes to its vector form,
// which wants at least one.
func vectors(elements int) bool { return set != isa.Portable && elements > 0 }
