//go:build !static && (linux || darwin) && (amd64 || arm64)

package blas

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// multiply computes a product whose sizes are above 0, by one call of the library. A and
// B are float32, or bf16 if narrow, which requires dnnlBF16. Only oneDNN returns errors.
func (l *library) multiply(narrow, transA, transB bool, m, n, k int, a unsafe.Pointer, lda int,
	b unsafe.Pointer, ldb int, beta float32, c *float32, ldc int) error {
	if l.alone != nil {
		l.alone.Lock()
		defer l.alone.Unlock()
	}
	switch {
	case narrow:
		return l.callDNNL(l.dnnlBF16, transA, transB, m, n, k, a, lda, b, ldb, beta, c, ldc)
	case l.dnnlSgemm != 0:
		return l.callDNNL(l.dnnlSgemm, transA, transB, m, n, k, a, lda, b, ldb, beta, c, ldc)
	}
	l.callFortran(transA, transB, m, n, k, a, lda, b, ldb, beta, c, ldc)
	return nil
}

// fortranCall holds the arguments of one call of sgemm_, which are all passed by
// address. Integers have 64 bits in little-endian order, so that libraries with 32-bit
// integers read the same value.
type fortranCall struct {
	transA, transB         byte
	m, n, k, lda, ldb, ldc int64
	alpha, beta            float32
	a, b                   unsafe.Pointer // visible to the garbage collector
	c                      *float32
	arguments              [15]uintptr
}

var idleFortran = sync.Pool{New: func() any { return new(fortranCall) }}

// callFortran computes a product by sgemm_, whose matrices are column-major: it computes
// Cᵀ = op(B)ᵀ·op(A)ᵀ, where the transposition of all three costs nothing.
//
// It calls sgemm_, whose arguments are all addresses, and not cblas_sgemm, because
// purego.SyscallN cannot pass integers and floats to one function. The two 1s are the
// lengths of the first two arguments, which Fortran compilers pass after all others.
func (l *library) callFortran(transA, transB bool, m, n, k int, a unsafe.Pointer, lda int, b unsafe.Pointer,
	ldb int, beta float32, c *float32, ldc int) {
	x := idleFortran.Get().(*fortranCall)
	x.transA, x.transB, x.m, x.n, x.k = letter(transA), letter(transB), int64(m), int64(n), int64(k)
	x.lda, x.ldb, x.ldc, x.alpha, x.beta, x.a, x.b, x.c = int64(lda), int64(ldb), int64(ldc), 1, beta, a, b, c
	x.arguments = [...]uintptr{
		uintptr(unsafe.Pointer(&x.transB)), uintptr(unsafe.Pointer(&x.transA)),
		uintptr(unsafe.Pointer(&x.n)), uintptr(unsafe.Pointer(&x.m)), uintptr(unsafe.Pointer(&x.k)),
		uintptr(unsafe.Pointer(&x.alpha)), uintptr(b), uintptr(unsafe.Pointer(&x.ldb)),
		uintptr(a), uintptr(unsafe.Pointer(&x.lda)),
		uintptr(unsafe.Pointer(&x.beta)), uintptr(unsafe.Pointer(c)), uintptr(unsafe.Pointer(&x.ldc)), 1, 1,
	}
	purego.SyscallN(l.sgemm, x.arguments[:]...)
	x.a, x.b, x.c = nil, nil, nil
	idleFortran.Put(x)
}

// dnnlCall holds the arguments of one call of dnnl_sgemm or of
// dnnl_gemm_bf16bf16f32, whose matrices are row-major, and its status.
// mixed_amd64.s reads it.
type dnnlCall struct {
	function       uintptr
	transA, transB uintptr
	m, n, k        int64
	a              unsafe.Pointer
	lda            int64
	b              unsafe.Pointer
	ldb            int64
	c              unsafe.Pointer
	ldc            int64
	alpha, beta    float32
	status         int32      // 0: success
	self           [1]uintptr // the argument of mixedCall
}

var idleDNNL = sync.Pool{New: func() any { return new(dnnlCall) }}

func (l *library) callDNNL(function uintptr, transA, transB bool, m, n, k int, a unsafe.Pointer, lda int,
	b unsafe.Pointer, ldb int, beta float32, c *float32, ldc int) error {
	x := idleDNNL.Get().(*dnnlCall)
	*x = dnnlCall{
		function: function, transA: uintptr(letter(transA)), transB: uintptr(letter(transB)),
		m: int64(m), n: int64(n), k: int64(k), a: a, lda: int64(lda), b: b, ldb: int64(ldb),
		c: unsafe.Pointer(c), ldc: int64(ldc), alpha: 1, beta: beta,
	}
	x.self = [1]uintptr{uintptr(unsafe.Pointer(x))}
	purego.SyscallN(mixed, x.self[:]...)
	status := x.status
	x.a, x.b, x.c = nil, nil, nil
	idleDNNL.Put(x)
	if status != 0 {
		return fmt.Errorf("%s returns status %d for a product of %d×%d by %d×%d", l.name, status, m, k, k, n)
	}
	return nil
}

// letter returns BLAS's letter for a matrix that is transposed or not.
func letter(transposed bool) byte {
	if transposed {
		return 'T'
	}
	return 'N'
}
