//go:build !amd64

package opt

import "tandem/algo/numeric/isa"

// bySet has the kernels of every set of instructions.
var bySet = [...]kernels{isa.Portable: {}}
