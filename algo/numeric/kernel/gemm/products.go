package gemm

import "tandem/algo/numeric/isa"

// Products computes the matrix products of a network. Its methods may be called
// from several goroutines at the same time.
type Products interface {
	// Name describes the implementation in a few words, for reports.
	Name() string

	// Gemm computes the matrix product
	//
	//	C = op(A)·op(B) + beta·C,   op(X) = X or Xᵀ
	//
	// Shapes: op(A) is m×k, op(B) is k×n, C is m×n, all row-major. A is stored as
	// m×k, or as k×m if transA; B as k×n, or as n×k if transB. Lda, ldb and ldc are
	// the distances between the starts of neighbouring stored rows, at least the
	// stored row's length. M, n and k may be 0: with k = 0, C becomes beta·C. With
	// beta = 0, C is overwritten even where it holds NaN. C must not overlap
	// A or B.
	//
	// The order and the rounding of sums depend on the implementation, but the same
	// arguments give the same bits.
	//
	// It panics if a size is negative, a stride or a slice too short.
	//
	// Source: level 3 BLAS (Dongarra, Du Croz, Hammarling, Duff, TOMS 16, 1990).
	Gemm(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, beta float32,
		c []float32, ldc int)
}

// Pool runs the tasks of one computation on goroutines that belong to a driver. This
// package starts no goroutine of its own.
type Pool interface {
	// Size returns the number of tasks that can run at the same time, at least 1.
	Size() int
	// ForEach calls task once for every index from 0 to tasks−1, in any order and on
	// any goroutine, and returns when all calls have returned.
	ForEach(tasks int, task func(index int))
}

// NewProducts returns the built-in products in the largest set of instructions that the
// process may use (isa.Best). Tasks run on the pool, or on the calling goroutine if it is
// nil.
//
// Element (i, j) of C is beta·C[i,j] plus the A[i,l]·B[l,j], added one by one in
// ascending l. In assembly a product and its addition round once, together, and the bits
// are those of Scalar; in portable Go both round. The bits depend neither on the pool,
// nor on AVX2 or AVX-512, nor on alignment, nor on the other rows and columns.
func NewProducts(pool Pool) Products { return newProducts(pool, isa.Best()) }

func newProducts(pool Pool, set isa.Set) Products {
	if a := bySet[set]; a != nil {
		return &fused{assembly: a, pool: pool}
	}
	return portable{}
}

// PoolOf returns the pool that runs built-in products, for other work of the same
// caller, or nil if they have none.
func PoolOf(p Products) Pool {
	if built, ok := p.(*fused); ok {
		return built.pool
	}
	return nil
}
