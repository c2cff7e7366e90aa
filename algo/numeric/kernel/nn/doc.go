// Package nn holds the kernels of the layers of a network besides matrix products:
// activations, gates, batch normalization, sums over pairs of vectors, the loss, and
// the steps of the dense optimizers.
//
// Matrices are row-major in a flat []float32. Destinations may not overlap sources
// unless the comment of a function allows it. Wrong shapes are mistakes of the caller
// and panic with both sizes. No function starts a goroutine or allocates.
//
// Every function is written twice, in Go and in assembly, with the same bits: sums run
// in ascending index, and every operation rounds. A process chooses the loops of its
// instruction set (algo/numeric/isa) once, when it starts.
package nn
