// Package opt holds the optimizers: Dense for the flat parameter vector of the
// network, Row for one row of an embedding table.
//
// An optimizer is a value without memory. Its state lies in a []float32 of the
// caller, beside the parameters (Dense) or in the row itself (Row), so that
// checkpoints, arenas and replicas see plain numbers. Methods may be called from
// several goroutines at once on disjoint slices, start no goroutine and do not
// allocate. Neither parameters, state nor gradient may overlap one another.
//
// Arithmetic is in float32, rounded after every operation, elements in ascending
// index unless a sum says otherwise; square roots are correctly rounded. Row
// refuses a gradient that is not finite; Dense does not look, and is spoilt by it:
// keeping such gradients out is the caller's decision (see vec.Finite).
package opt

import (
	"fmt"
	"math"
)

// Order says whether an Adagrad step uses the accumulator with or without the
// gradient of that same step.
type Order string

const (
	// After adds the squared gradient first and then steps, as Duchi, Hazan and
	// Singer (and PyTorch) do:
	//
	//	G += g²;  w −= rate·g / (√G + epsilon)
	After Order = "after"
	// Before steps first and then adds the squared gradient, as Persia does:
	//
	//	w −= rate·g / √(G + epsilon);  G += g²
	Before Order = "before"
)

// checkLen panics unless the slice called name has exactly want elements.
func checkLen(name string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("opt: len(%s) = %d, want %d", name, got, want))
	}
}

// sqrt is the float32 square root, correctly rounded: rounding the float64 root
// of a float32 once more gives the same bits as rounding the exact root.
func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// fill sets every element of x.
func fill(x []float32, v float32) {
	for i := range x {
		x[i] = v
	}
}
