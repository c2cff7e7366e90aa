package opt

import "tandem/algo/numeric/isa"

// bySet has the kernels of every set of instructions.
var bySet = [...]kernels{
	isa.Portable: {},
	isa.AVX2:     {descendAVX2, adagradBeforeAVX2, adagradAfterAVX2, rowwiseBeforeAVX2, rowwiseAfterAVX2},
	isa.AVX512: {descendAVX512, adagradBeforeAVX512, adagradAfterAVX512, rowwiseBeforeAVX512,
		rowwiseAfterAVX512},
}

// The kernels of row_amd64_gen.s update rows and clamp their values to the limit. A row
// whose gradient is not finite does not change. Each has the bits of the portable form
// in update of its rule.

//go:noescape
func adagradBeforeAVX512(b *batch)

//go:noescape
func adagradBeforeAVX2(b *batch)

//go:noescape
func adagradAfterAVX512(b *batch)

//go:noescape
func adagradAfterAVX2(b *batch)

// The descents are values −= rate·grad/divisor.
//
//go:noescape
func descendAVX512(b *batch)

//go:noescape
func descendAVX2(b *batch)

//go:noescape
func rowwiseBeforeAVX512(b *batch)

//go:noescape
func rowwiseBeforeAVX2(b *batch)

//go:noescape
func rowwiseAfterAVX512(b *batch)

//go:noescape
func rowwiseAfterAVX2(b *batch)
