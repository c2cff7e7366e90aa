package nn

import "tandem/algo/numeric/isa"

// bySet has the loops of every set of instructions.
var bySet = [...]*loops{isa.Portable: &portable, isa.AVX2: &loopsAVX2, isa.AVX512: &loopsAVX512}
