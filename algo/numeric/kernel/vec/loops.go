package vec

import "tandem/algo/numeric/isa"

// kernels are the loops of this package in one set of instructions.
type kernels struct {
	loops // generated
	// sumSegments is SumSegments of checked arguments that name at least one vector.
	sumSegments func(dst []float32, stride int, src []float32, unit int, at, ends []int32, dim int,
		start float32)
	// sumTrees is SumTrees of checked arguments that name at least one vector.
	sumTrees func(dst []float32, dim int, src []float32, at []int32, joins []uint8, ends []int32)
	// spread is Spread of checked arguments of at least one vector.
	spread func(dst []float32, at, ends []int32, src []float32, dim int)
	// toBF16 is ToBF16 of at least one value.
	toBF16 func(dst []uint16, src []float32)
}

// portable are the loops in Go.
var portable = kernels{
	loops: loops{
		add: add, axpy: axpy, scale: scale, divide: divide, quotient: quotient,
		sumFour: sumFour, sumEight: sumEight,
		addBias: addBias, columnSum: columnSum, copyRows: copyRows, addRows: addRows,
		largestExponent: largestExponent, squares: squares,
	},
	sumSegments: sumSegments,
	sumTrees:    sumTrees,
	spread:      spread,
	toBF16:      toBF16,
}

// active are the loops of this process. Only tests change it.
var active = bySet[isa.Best()]
