package probe

import "tandem/algo/numeric/isa"

// multiplyAdd does sums multiply-adds of a register in each turn, at least one.
func multiplyAdd(turns int) {
	if isa.Best() == isa.AVX512 {
		multiplyAddAVX512(turns)
	} else {
		multiplyAddAVX2(turns)
	}
}

//go:noescape
func multiplyAddAVX512(turns int)

//go:noescape
func multiplyAddAVX2(turns int)
