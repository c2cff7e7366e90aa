//go:build !amd64

package gemm

import "tandem/algo/numeric/isa"

// bySet has the routines of every set of instructions, nil for portable Go.
var bySet = [...]*assembly{isa.Portable: nil}
