// Package opt holds the optimizers: Dense for the flat parameter vector of the network, Row for one row of an
// embedding table.
//
//	optimizer, err := opt.NewRow(opt.DefaultRow())
//	state := make([]float32, optimizer.StateSize(dim))
//	optimizer.Init(state)
//	applied := optimizer.Apply(embedding, state, grad, optimizer.Rate(step))
//
// An optimizer holds no state itself. The caller keeps the state in a []float32, for Dense beside the
// parameters and for Row in the row, so that checkpoints, arenas and replicas see plain numbers. Methods may
// be called from several goroutines at the same time on disjoint slices; they start no goroutine and do not
// allocate. Parameters, state and gradient may not overlap.
//
// Arithmetic is in float32, rounded after every operation, in ascending index unless a sum states another
// order; square roots are correctly rounded. Row rejects a gradient that is not finite. Dense does not check,
// so a gradient with NaN makes the parameters NaN: the caller decides (see vec.Finite).
package opt

import (
	"fmt"
	"math"
)

// Order is the order of the two parts of an Adagrad step: adding the squared gradient
// to the accumulator, and dividing by the root of the accumulator.
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
