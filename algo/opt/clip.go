package opt

import "math"

// clipNorm scales a gradient, in place, to the Euclidean norm most if its norm is
// larger; most = 0 leaves it. So does a norm that is not finite, for which there
// is no factor. The sum of squares is in float64, in ascending index. Cost: 2
// operations an element, one more if it clips.
//
// Source: Pascanu, Mikolov, Bengio, ICML 2013, algorithm 1.
func clipNorm(grad []float32, most float64) {
	if most == 0 {
		return
	}
	squares := 0.0
	for _, g := range grad {
		squares += float64(float64(g) * float64(g))
	}
	norm := math.Sqrt(squares)
	if !(norm > most) || math.IsInf(norm, 1) {
		return
	}
	scale := float32(most / norm)
	for i := range grad {
		grad[i] *= scale
	}
}
