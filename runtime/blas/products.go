//go:build !static && (linux || darwin) && (amd64 || arm64)

package blas

import (
	"sync"
	"unsafe"

	"tandem/algo/numeric/kernel/gemm"
)

// A product is cut along the longer side of C into tasks of at least minTaskSide rows or
// columns, and at most maxTasks tasks; a product of fewer than wholeBelow
// multiplications is one task. In each task the library packs the operand that is not
// cut once more, which is about 1 part in minTaskSide/4 of its work.
const (
	minTaskSide = 128
	maxTasks    = 16
	wholeBelow  = 1 << 21
)

// products are the matrix products of one library on one pool.
type products struct {
	library *library
	pool    gemm.Pool // nil: the calling goroutine only
	idle    sync.Pool // of *product
}

func newProducts(l *library, pool gemm.Pool) *products {
	p := &products{library: l, pool: pool}
	p.idle.New = func() any {
		one := new(product)
		one.task = one.multiplyTask
		return one
	}
	return p
}

// Name returns the name and version of the library.
func (p *products) Name() string { return p.library.name }

// Gemm implements gemm.Products.
func (p *products) Gemm(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int,
	beta float32, c []float32, ldc int) {
	gemm.Check(transA, transB, m, n, k, a, lda, b, ldb, c, ldc)
	if m == 0 || n == 0 {
		return
	}
	if k == 0 {
		gemm.Scalar(transA, transB, m, n, k, a, lda, b, ldb, beta, c, ldc)
		return
	}
	one := p.idle.Get().(*product)
	one.library, one.transA, one.transB, one.m, one.n, one.k = p.library, transA, transB, m, n, k
	one.narrow, one.a, one.lda, one.b, one.ldb = false, unsafe.Pointer(&a[0]), lda, unsafe.Pointer(&b[0]), ldb
	one.beta, one.c, one.ldc = beta, c, ldc
	one.run(p.pool)
	p.release(one)
}

// release drops the references to the caller's matrices.
func (p *products) release(one *product) {
	one.a, one.b, one.c = nil, nil, nil
	p.idle.Put(one)
}

// product is one product in progress.
type product struct {
	library        *library
	transA, transB bool
	m, n, k        int
	narrow         bool // A and B are bf16, not float32
	a              unsafe.Pointer
	lda            int
	b              unsafe.Pointer
	ldb            int
	beta           float32
	c              []float32
	ldc            int

	tasks int
	task  func(int) // multiplyTask, bound once
}

// run computes the whole product.
func (p *product) run(pool gemm.Pool) {
	p.tasks = countTasks(p.m, p.n, p.k)
	if pool == nil || p.tasks == 1 {
		for i := range p.tasks {
			p.multiplyTask(i)
		}
		return
	}
	pool.ForEach(p.tasks, p.task)
}

// countTasks returns the number of tasks of a product. It depends on the shape alone, and so
// do the bits.
func countTasks(m, n, k int) int {
	if m*n*k < wholeBelow {
		return 1
	}
	return min(max(max(m, n)/minTaskSide, 1), maxTasks)
}

// multiplyTask computes one part of the product: some rows of C, or some columns.
func (p *product) multiplyTask(i int) {
	m, n, atA, atB, atC := p.m, p.n, 0, 0, 0
	if m >= n {
		lo, hi := i*m/p.tasks, (i+1)*m/p.tasks
		m, atA, atC = hi-lo, start(lo, p.lda, !p.transA), lo*p.ldc
	} else {
		lo, hi := i*n/p.tasks, (i+1)*n/p.tasks
		n, atB, atC = hi-lo, start(lo, p.ldb, p.transB), lo
	}
	size := 4
	if p.narrow {
		size = 2
	}
	err := p.library.multiply(p.narrow, p.transA, p.transB, m, n, p.k,
		unsafe.Add(p.a, size*atA), p.lda, unsafe.Add(p.b, size*atB), p.ldb, p.beta, &p.c[atC], p.ldc)
	if err != nil {
		panic("blas: " + err.Error())
	}
}

// start returns the offset of row i of a matrix as stored, or of column i.
func start(i, ld int, row bool) int {
	if row {
		return i * ld
	}
	return i
}
