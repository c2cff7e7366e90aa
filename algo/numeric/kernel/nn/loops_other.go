//go:build !amd64

package nn

import "tandem/algo/numeric/isa"

// bySet has the loops of every set of instructions.
var bySet = [...]*loops{isa.Portable: &portable}
