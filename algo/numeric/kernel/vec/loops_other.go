//go:build !amd64

package vec

import "tandem/algo/numeric/isa"

// bySet has the loops of every set of instructions.
var bySet = [...]*kernels{isa.Portable: &portable}
