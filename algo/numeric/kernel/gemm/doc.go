// Package gemm computes matrix products: the interface Products, its built-in
// implementations in assembly and in portable Go, and the products of all pairs of
// vectors of a sample (Interaction).
//
//	p := gemm.NewProducts(nil) // on the calling goroutine
//	p.Gemm(false, true, m, n, k, a, k, b, k, 0, c, n) // C = A·Bᵀ
//
// Every matrix is row-major in a flat []float32. Wrong shapes are mistakes of the
// caller and panic with both sizes.
//
// A result depends on the arguments alone: not on the number of cores, the address of
// a slice, or the number of other rows of a matrix. Two runs on one instruction set
// (algo/numeric/isa) therefore give equal bits, and the logit of a sample does not
// depend on the batch that it was evaluated in.
//
// No function starts a goroutine or, once it has its workspace, allocates. A driver
// that has goroutines passes them as a Pool.
//
// # The pool
//
// Products of a process share one pool (internal/parallel), which callers pass in, because no goroutine may
// start in algo. A caller never waits for a worker that has not begun, so busy cores cost nothing.
package gemm
