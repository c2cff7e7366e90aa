package gemm

import (
	"sync"

	"tandem/algo/numeric/kernel/vec"
)

// BF16Products returns products that round their operands to the nearest bf16, ties to
// even, before they multiply; sums, beta·C and C stay fp32. So parameters and gradients
// keep their precision, and a network is trained as on hardware with bf16 multipliers.
//
// If p has a method BF16() Products, as a library with bf16 multipliers does,
// BF16Products returns its result. Otherwise the rounded values are multiplied in fp32,
// which is not faster, but gives the same numbers up to the order of sums: the product
// of two bf16 is exact in fp32.
func BF16Products(p Products) Products {
	if own, ok := p.(interface{ BF16() Products }); ok {
		return own.BF16()
	}
	return &rounded{products: p}
}

// rounded is BF16Products for products that compute in fp32 only.
type rounded struct {
	products Products
	idle     sync.Pool // of *[2][]float32
}

// Name implements Products.
func (r *rounded) Name() string { return r.products.Name() + ", fp32 on operands rounded to bf16" }

// Gemm implements Products. It allocates only when more or larger products run at the
// same time than recently.
func (r *rounded) Gemm(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int,
	beta float32, c []float32, ldc int) {
	Check(transA, transB, m, n, k, a, lda, b, ldb, c, ldc)
	copies, _ := r.idle.Get().(*[2][]float32)
	if copies == nil {
		copies = new([2][]float32)
	}
	rowsA, colsA := stored(transA, m, k)
	rowsB, colsB := stored(transB, k, n)
	copies[0] = roundedCopy(copies[0], a, rowsA, colsA, lda)
	copies[1] = roundedCopy(copies[1], b, rowsB, colsB, ldb)
	r.products.Gemm(transA, transB, m, n, k, copies[0], max(colsA, 1), copies[1], max(colsB, 1), beta, c, ldc)
	r.idle.Put(copies)
}

// stored returns the rows and columns of a matrix as it is stored.
func stored(transposed bool, rows, cols int) (int, int) {
	if transposed {
		return cols, rows
	}
	return rows, cols
}

// roundedCopy returns a matrix with every value rounded to bf16 and without gaps
// between rows, in dst if dst is large enough.
func roundedCopy(dst, src []float32, rows, cols, ld int) []float32 {
	if cap(dst) < rows*cols {
		dst = make([]float32, rows*cols)
	}
	dst = dst[:rows*cols]
	for i := range rows {
		for j := range cols {
			dst[i*cols+j] = vec.FromBF16(vec.BF16(src[i*ld+j]))
		}
	}
	return dst
}
