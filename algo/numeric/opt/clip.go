package opt

import (
	"math"

	"tandem/algo/numeric/kernel/vec"
)

// clipNorm scales a gradient, in place, to the Euclidean norm most if its norm is
// larger. It changes nothing if most is 0, or if the norm is not finite, since no factor
// would help. The sum of squares is vec.SumSquares. Cost: 2
// operations an element, one more if it clips.
//
// Source: Pascanu, Mikolov, Bengio, ICML 2013, algorithm 1.
func clipNorm(grad []float32, most float64) {
	if most == 0 {
		return
	}
	norm := math.Sqrt(vec.SumSquares(grad))
	if !(norm > most) || math.IsInf(norm, 1) {
		return
	}
	vec.Scale(grad, float32(most/norm))
}
