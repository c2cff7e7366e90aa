package kernel

// Products computes the matrix products of a network. Its methods may be called
// from several goroutines at once.
type Products interface {
	// Name says what computes, in a few words for reports.
	Name() string
	// Gemm computes C = op(A)·op(B) + beta·C as the function Gemm does, in sums
	// whose order and rounding may be its own. The same arguments give the same
	// bits.
	Gemm(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int)
}

// Crew is goroutines of a driver that share one computation. This package starts
// none of its own.
type Crew interface {
	// Size returns the number of pieces that may be worked on at the same time,
	// at least 1.
	Size() int
	// Do calls work once for every piece from 0 to pieces−1, in any order and on
	// any goroutine, and returns when all calls have returned.
	Do(pieces int, work func(piece int))
}

// NewProducts returns the built-in products, whose bits do not depend on the
// crew; a nil crew is the calling goroutine alone.
func NewProducts(crew Crew) Products { return builtIn{} }

type builtIn struct{}

func (builtIn) Name() string { return "built-in kernels, portable Go (gonum blas32)" }

func (builtIn) Gemm(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	Gemm(transA, transB, m, n, k, a, lda, b, ldb, beta, c, ldc)
}
