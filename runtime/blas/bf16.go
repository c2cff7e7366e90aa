//go:build !static && (linux || darwin) && (amd64 || arm64)

package blas

import (
	"sync"
	"unsafe"

	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/kernel/vec"
)

// bf16Capable are the products of a library that also multiplies bf16.
type bf16Capable struct{ *products }

// BF16 returns the products that gemm.BF16Products asks for.
func (p *bf16Capable) BF16() gemm.Products {
	return &bf16Products{products: p.products}
}

// bf16Products round their operands to bf16, which the library multiplies and sums in
// fp32. Every product rounds both operands, in tasks on the pool: rounding is memory
// traffic, which a product of few rows does not hide.
type bf16Products struct {
	*products
	operands sync.Pool // of *[2]operand
}

// Name returns the name and version of the library, and "bf16".
func (p *bf16Products) Name() string { return p.library.name + ", bf16" }

// Gemm is gemm.Products.Gemm of operands rounded to bf16.
func (p *bf16Products) Gemm(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int,
	beta float32, c []float32, ldc int) {
	gemm.Check(transA, transB, m, n, k, a, lda, b, ldb, c, ldc)
	if m == 0 || n == 0 {
		return
	}
	if k == 0 {
		gemm.Scalar(transA, transB, m, n, k, a, lda, b, ldb, beta, c, ldc)
		return
	}
	both, _ := p.operands.Get().(*[2]operand)
	if both == nil {
		both = newOperands()
	}
	rowsA, colsA, rowsB, colsB := m, k, k, n
	if transA {
		rowsA, colsA = k, m
	}
	if transB {
		rowsB, colsB = n, k
	}
	both[0].round(a, rowsA, colsA, lda, p.pool)
	both[1].round(b, rowsB, colsB, ldb, p.pool)
	one := p.idle.Get().(*product)
	one.library, one.transA, one.transB, one.m, one.n, one.k = p.library, transA, transB, m, n, k
	one.narrow, one.a, one.lda, one.b, one.ldb = true, unsafe.Pointer(&both[0].values[0]), colsA,
		unsafe.Pointer(&both[1].values[0]), colsB
	one.beta, one.c, one.ldc = beta, c, ldc
	one.run(p.pool)
	p.release(one)
	p.operands.Put(both)
}

// operand is a matrix rounded to bf16, without gaps between its rows.
type operand struct {
	values     []uint16
	from       []float32 // while it is rounded
	cols, ld   int
	rows, part int // of the matrix, and of a task
	task       func(int)
}

func newOperands() *[2]operand {
	both := new([2]operand)
	for i := range both {
		both[i].task = both[i].roundTask
	}
	return both
}

// roundedAtOnce is the number of values that one task rounds.
const roundedAtOnce = 1 << 16

// round rounds a matrix.
func (o *operand) round(from []float32, rows, cols, ld int, pool gemm.Pool) {
	if cap(o.values) < rows*cols {
		o.values = make([]uint16, rows*cols)
	}
	o.values, o.from, o.rows, o.cols, o.ld = o.values[:rows*cols], from, rows, cols, ld
	o.part = max(1, roundedAtOnce/cols)
	tasks := (rows + o.part - 1) / o.part
	if pool == nil || tasks == 1 {
		for i := range tasks {
			o.roundTask(i)
		}
	} else {
		pool.ForEach(tasks, o.task)
	}
	o.from = nil
}

// roundTask rounds some rows.
func (o *operand) roundTask(i int) {
	for row := i * o.part; row < min((i+1)*o.part, o.rows); row++ {
		vec.ToBF16(o.values[row*o.cols:(row+1)*o.cols], o.from[row*o.ld:row*o.ld+o.cols])
	}
}
