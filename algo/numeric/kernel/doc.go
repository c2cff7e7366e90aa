// Package kernel holds the numeric loops of the dense network: matrix products,
// row sums, activations, batch normalization, the loss and the optimizers' steps.
//
// Every matrix is row-major in a flat []float32. Destinations may not overlap
// sources unless the comment of a function allows it. Wrong shapes are the
// caller's mistake and panic with both sizes.
//
// The result of every function depends on its arguments alone: not on the
// number of cores, nor on the address of a slice, nor on how many other rows
// a matrix has. Sums run in ascending index unless a comment fixes another order.
// Two runs on one instruction set therefore give equal bits, and a sample's logit
// does not depend on the batch that it was evaluated in (batch normalization in
// training excepted, whose purpose that is).
//
// What works element by element has the same bits with every set of vector
// instructions (algo/numeric/isa) and without.
//
// No function starts a goroutine or, once it has its workspace, allocates.
// Parallelism is the driver's: over the groups of a batch, and by the Pool that it
// may hand to matrix products.
package kernel

import "fmt"

// checkLen panics unless the slice called name has at least want elements.
func checkLen(name string, got, want int) {
	if got < want {
		panic(fmt.Sprintf("kernel: len(%s) = %d, want at least %d", name, got, want))
	}
}

// checkSame panics unless the slice called name has exactly want elements.
func checkSame(name string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("kernel: len(%s) = %d, want %d", name, got, want))
	}
}
