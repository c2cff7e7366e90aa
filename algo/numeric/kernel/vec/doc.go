// Package vec computes element by element and row by row: sums, multiples, bias and
// column sums of matrices, segments of vectors, checks for finite values, and rounding
// to bf16.
//
// Matrices are row-major in a flat []float32. Destinations may not overlap sources
// unless the comment of a function allows it. Wrong shapes are mistakes of the caller
// and panic with both sizes. No function starts a goroutine or allocates.
//
// Every function is written twice, in Go and in assembly, with the same bits: sums run
// in ascending index, and every operation rounds. A process chooses the loops of its
// instruction set (algo/numeric/isa) once, when it starts.
//
// A table of loops holds one function value for each loop, so a call has no branch on the processor, and
// costs a call through a pointer. What waits for memory, SumTrees and Spread, has one form, for AVX2.
package vec
