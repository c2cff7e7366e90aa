package compress

import "tandem/algo/numeric/isa"

// wide is true if the processor converts eight values at a time.
var wide = isa.Best() >= isa.AVX2

// putEights and getEights are putHalves and getHalves of 8·eights values, at
// least 8.
//
//go:noescape
func putEights(dst *byte, values *float32, eights int, scale float32)

//go:noescape
func getEights(values *float32, src *byte, eights int, scale float32)

// putWide writes the values that the processor converts eight at a time, and returns their number.
func putWide(dst []byte, values []float32, scale float32) int {
	eights := len(values) / 8
	if !wide || eights == 0 {
		return 0
	}
	dst = dst[:16*eights]
	putEights(&dst[0], &values[0], eights, scale)
	return 8 * eights
}

// getWide reads the halves that the processor converts eight at a time, and returns their number.
func getWide(values []float32, src []byte, scale float32) int {
	eights := len(values) / 8
	if !wide || eights == 0 {
		return 0
	}
	src = src[:16*eights]
	getEights(&values[0], &src[0], eights, scale)
	return 8 * eights
}
