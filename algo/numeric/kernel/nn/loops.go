package nn

import "tandem/algo/numeric/isa"

// portable are the loops in Go.
var portable = loops{
	gate: gate, gateBackward: gateBackward, rectify: rectify, addBiasRectify: addBiasRectify, mask: mask,
	maskSum: maskSum,
	descend: descend, adagradAfter: adagradAfter, adagradBefore: adagradBefore, adam: adam,
	columnSum64: columnSum64, deviations: deviations, moments: moments,
	normalize: normalize, normBackwardSums: normBackwardSums, normBackward: normBackward,
	crossEntropy: crossEntropy, pairSumBackward: pairSumBackward,
}

// active are the loops of this process. Only tests change it.
var active = bySet[isa.Best()]
