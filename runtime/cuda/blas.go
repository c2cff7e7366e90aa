package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"
)

// Type is a format of numbers.
type Type uint8

// The types. TF32 is what products make of numbers that are stored as F32: they round them to 10 bits of
// fraction. Sums are made in F32 for all types.
const (
	F32 Type = iota
	TF32
	BF16
	F16
)

// String returns fp32, tf32, bf16 or fp16.
func (t Type) String() string { return [...]string{"fp32", "tf32", "bf16", "fp16"}[t] }

// Bytes returns the size of a number.
func (t Type) Bytes() int {
	if t == F32 || t == TF32 {
		return 4
	}
	return 2
}

// Product is the shape of a product of row-major matrices:
//
//	C = alpha·op(A)·op(B) + beta·C
//
// C has Rows × Columns numbers, op(A) Rows × Inner, and op(B) Inner × Columns.
type Product struct {
	Rows, Columns, Inner   int
	TransposeA, TransposeB bool
	Type                   Type // of A and B
	Out                    Type // of C and of the bias: F32, or the Type
	// The strides are the numbers between the begins of two rows in memory. 0 is the length of a row.
	StrideA, StrideB, StrideC int
	// A Batch above 1 is a number of products of the same shape, with matrices that lie the numbers of
	// BatchA, BatchB and BatchC apart.
	Batch, BatchA, BatchB, BatchC int
	// Bias adds a vector to every row of the result. What else could follow within a product is left out: the
	// max(x, 0) of the library may make 0 of NaN.
	Bias bool
	// Alignment is the number of bytes of which the addresses of all matrices are multiples: 16 by default.
	// Smaller ones exclude faster algorithms. The address of a bias is a multiple of 16.
	Alignment int
}

// String returns a text such as "512×256 by 256×128 in fp32".
func (p Product) String() string {
	return fmt.Sprintf("%d×%d by %d×%d in %v", p.Rows, p.Inner, p.Inner, p.Columns, p.Type)
}

// blasEntries are the functions of libcublasLt.
type blasEntries struct {
	version int

	getVersion, getStatusString, create, destroy       entry
	layoutCreate, layoutDestroy, layoutSet             entry
	descCreate, descDestroy, descSet                   entry
	preferenceCreate, preferenceDestroy, preferenceSet entry
	heuristic, matmul                                  entry
}

func (d *Driver) openBLAS() (*blasEntries, error) {
	b := new(blasEntries)
	err := load("matrix products, cuBLASLt", candidates(d.libraries.BLAS, d.version/1000, "libcublasLt.so.13",
		"libcublasLt.so.12", "libcublasLt.so.11"), []wanted{
		{&b.getVersion, "cublasLtGetVersion", false},
		{&b.getStatusString, "cublasLtGetStatusString", false}, // since CUDA 11.4
		{&b.create, "cublasLtCreate", false},
		{&b.destroy, "cublasLtDestroy", false},
		{&b.layoutCreate, "cublasLtMatrixLayoutCreate", false},
		{&b.layoutDestroy, "cublasLtMatrixLayoutDestroy", false},
		{&b.layoutSet, "cublasLtMatrixLayoutSetAttribute", false},
		{&b.descCreate, "cublasLtMatmulDescCreate", false},
		{&b.descDestroy, "cublasLtMatmulDescDestroy", false},
		{&b.descSet, "cublasLtMatmulDescSetAttribute", false},
		{&b.preferenceCreate, "cublasLtMatmulPreferenceCreate", false},
		{&b.preferenceDestroy, "cublasLtMatmulPreferenceDestroy", false},
		{&b.preferenceSet, "cublasLtMatmulPreferenceSetAttribute", false},
		{&b.heuristic, "cublasLtMatmulAlgoGetHeuristic", false},
		{&b.matmul, "cublasLtMatmul", false},
	})
	if err != nil {
		return nil, err
	}
	b.version = int(call(b.getVersion.address))
	return b, nil
}

// BLAS multiplies matrices on a device. Its products share a workspace, so they must follow each other: on
// one stream, or ordered by events.
type BLAS struct {
	device    *Device
	lt        *blasEntries
	handle    uintptr
	workspace Memory
}

// WorkspaceBytes is the size of the workspace of a BLAS that cuBLAS's documentation recommends: 32 MiB from
// Hopper on, and 4 MiB before.
func (i Info) WorkspaceBytes() int {
	if i.Major >= 9 {
		return 32 << 20
	}
	return 4 << 20
}

// NewBLAS opens the library of products and allocates a workspace of 4 or 32 MiB.
func (d *Device) NewBLAS() (*BLAS, error) {
	lt, err := d.driver.blas()
	if err != nil {
		return nil, err
	}
	b := &BLAS{device: d, lt: lt}
	handle := new(uintptr)
	if err := b.call(&lt.create, uintptr(unsafe.Pointer(handle))); err != nil {
		return nil, err
	}
	b.handle = *handle
	if b.workspace, err = d.Alloc(d.info.WorkspaceBytes()); err != nil {
		return nil, errors.Join(err, b.call(&lt.destroy, b.handle))
	}
	return b, nil
}

// Version returns the version of the library, such as 120403.
func (b *BLAS) Version() int { return b.lt.version }

// Close frees the library's state. Plans must be closed before.
func (b *BLAS) Close() error {
	captures.Lock() // the library waits for the device
	err := b.call(&b.lt.destroy, b.handle)
	captures.Unlock()
	return errors.Join(err, b.device.Free(b.workspace))
}

// call makes the device current on this thread and calls a function of the library.
//
//go:uintptrescapes
func (b *BLAS) call(e *entry, arguments ...uintptr) error {
	code, err := b.device.callOther(e, arguments...)
	if err != nil || code == 0 {
		return err
	}
	return &Error{Device: b.device.info.Ordinal, Call: e.name, Code: -code,
		Text: text(call(b.lt.getStatusString.address, uintptr(code)))}
}

// Plan is a product with the algorithm that computes it.
type Plan struct {
	blas    *BLAS
	product Product
	desc    uintptr
	// The library's matrices are column-major, and a row-major matrix is a column-major one transposed. So
	// it computes Cᵀ = op(B)ᵀ·op(A)ᵀ: its first matrix is B, its second A.
	layoutA, layoutB, layoutC uintptr
	result                    *matmulHeuristicResult

	mutex     sync.Mutex // guards what follows, and the pointer to the bias in the description
	bias      uint64
	factors   *[2]float32 // alpha and beta
	arguments *[16]uintptr
}

// typeOf returns the library's number for a type.
func typeOf(t Type) uintptr { return [...]uintptr{real32F, real32F, real16BF, real16F}[t] }

// check returns what is wrong with a product, and sets its defaults.
func (p *Product) check() error {
	set := func(n *int, value int) {
		if *n == 0 {
			*n = value
		}
	}
	lengthA, lengthB := p.Inner, p.Columns
	if p.TransposeA {
		lengthA = p.Rows
	}
	if p.TransposeB {
		lengthB = p.Inner
	}
	set(&p.StrideA, lengthA)
	set(&p.StrideB, lengthB)
	set(&p.StrideC, p.Columns)
	set(&p.Batch, 1)
	set(&p.Alignment, 16)
	switch {
	case p.Rows < 1 || p.Columns < 1 || p.Inner < 1 || p.Batch < 1:
		return fmt.Errorf("cuda: a product of %v, %d times: sizes must be positive", *p, p.Batch)
	case p.StrideA < lengthA || p.StrideB < lengthB || p.StrideC < p.Columns:
		return fmt.Errorf("cuda: a product of %v has strides %d, %d, %d: the rows have %d, %d, %d numbers",
			*p, p.StrideA, p.StrideB, p.StrideC, lengthA, lengthB, p.Columns)
	case p.Out != F32 && (p.Out != p.Type || p.Out == TF32):
		return fmt.Errorf("cuda: a product of %v cannot have a result in %v: want fp32", *p, p.Out)
	}
	return nil
}

// Plan asks the library for its best algorithm for a product.
func (b *BLAS) Plan(product Product) (*Plan, error) {
	if err := product.check(); err != nil {
		return nil, err
	}
	p := &Plan{blas: b, product: product, result: new(matmulHeuristicResult), factors: new([2]float32),
		arguments: new([16]uintptr)}
	err := p.describe()
	if err == nil {
		err = p.choose()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("a product of %v: %w", product, err), p.Close())
	}
	return p, nil
}

// describe makes the library's descriptions of the product and its matrices.
func (p *Plan) describe() error {
	b, x := p.blas, p.product
	compute := uintptr(compute32F)
	if x.Type == TF32 {
		compute = compute32FFastTF32
	}
	handle := new(uintptr)
	if err := b.call(&b.lt.descCreate, uintptr(unsafe.Pointer(handle)), compute, real32F); err != nil {
		return err
	}
	p.desc = *handle
	set := func(attribute uintptr, value *uint32) error {
		return b.call(&b.lt.descSet, p.desc, attribute, uintptr(unsafe.Pointer(value)), unsafe.Sizeof(*value))
	}
	operation := func(transposed bool) *uint32 {
		value := new(uint32)
		if transposed {
			*value = operationTransposed
		}
		return value
	}
	epilogue := new(uint32)
	if *epilogue = epilogueDefault; x.Bias {
		*epilogue = epilogueBias
	}
	err := errors.Join(set(descTransA, operation(x.TransposeB)), set(descTransB, operation(x.TransposeA)),
		set(descEpilogue, epilogue))
	if err != nil {
		return err
	}
	sizes := func(rows, columns int, transposed bool) (int, int) {
		if transposed {
			return rows, columns
		}
		return columns, rows // of the stored matrix, column-major
	}
	rowsA, columnsA := sizes(x.Rows, x.Inner, x.TransposeA)
	rowsB, columnsB := sizes(x.Inner, x.Columns, x.TransposeB)
	return errors.Join(p.layout(&p.layoutA, x.Type, rowsA, columnsA, x.StrideA, x.BatchA),
		p.layout(&p.layoutB, x.Type, rowsB, columnsB, x.StrideB, x.BatchB),
		p.layout(&p.layoutC, x.Out, x.Columns, x.Rows, x.StrideC, x.BatchC))
}

func (p *Plan) layout(to *uintptr, t Type, rows, columns, stride, apart int) error {
	b := p.blas
	handle := new(uintptr)
	err := b.call(&b.lt.layoutCreate, uintptr(unsafe.Pointer(handle)), typeOf(t), uintptr(rows),
		uintptr(columns),
		uintptr(stride))
	if *to = *handle; err != nil || p.product.Batch == 1 {
		return err
	}
	batch, offset := new(int32), new(int64)
	*batch, *offset = int32(p.product.Batch), int64(apart)
	return errors.Join(
		b.call(&b.lt.layoutSet, *to, layoutBatchCount, uintptr(unsafe.Pointer(batch)), unsafe.Sizeof(*batch)),
		b.call(&b.lt.layoutSet, *to, layoutStridedBatchOffset, uintptr(unsafe.Pointer(offset)),
			unsafe.Sizeof(*offset)))
}

// choose asks for the best algorithm within the workspace.
func (p *Plan) choose() error {
	b := p.blas
	preference, most, least := new(uintptr), new(uint64), new(uint32)
	if err := b.call(&b.lt.preferenceCreate, uintptr(unsafe.Pointer(preference))); err != nil {
		return err
	}
	defer b.call(&b.lt.preferenceDestroy, *preference)
	*most, *least = uint64(b.workspace.Bytes), uint32(p.product.Alignment)
	err := b.call(&b.lt.preferenceSet, *preference, preferMaxWorkspaceBytes, uintptr(unsafe.Pointer(most)),
		unsafe.Sizeof(*most))
	for _, alignment := range []uintptr{preferMinAlignmentA, preferMinAlignmentB, preferMinAlignmentC,
		preferMinAlignmentD} {
		err = errors.Join(err, b.call(&b.lt.preferenceSet, *preference, alignment,
			uintptr(unsafe.Pointer(least)),
			unsafe.Sizeof(*least)))
	}
	if p.product.Bias { // the library takes the alignment of the bias from its address
		err = errors.Join(err, p.setBias(biasAlignment))
	}
	if err != nil {
		return err
	}
	found := new(int32)
	err = b.call(&b.lt.heuristic, b.handle, p.desc, p.layoutB, p.layoutA, p.layoutC, p.layoutC,
		*preference, 1,
		uintptr(unsafe.Pointer(p.result)), uintptr(unsafe.Pointer(found)))
	failed := new(Error)
	if err == nil && (*found == 0 || p.result.state != 0) ||
		errors.As(err, &failed) && failed.Code == -statusNotSupported {
		return ErrNoAlgorithm
	}
	return err
}

// ErrNoAlgorithm says that a product may be computed in other pieces, such as with its bias apart.
var ErrNoAlgorithm = errors.New("the library has no algorithm for it")

// biasAlignment is that of every bias, in bytes.
const biasAlignment = 16

func (p *Plan) setBias(address uint64) error {
	p.bias = address
	return p.blas.call(&p.blas.lt.descSet, p.desc, descBiasPointer, uintptr(unsafe.Pointer(&p.bias)),
		unsafe.Sizeof(p.bias))
}

// Close frees the plan.
func (p *Plan) Close() error {
	var err error
	free := func(e *entry, handle *uintptr) {
		if *handle != 0 {
			err = errors.Join(err, p.blas.call(e, *handle))
			*handle = 0
		}
	}
	free(&p.blas.lt.layoutDestroy, &p.layoutA)
	free(&p.blas.lt.layoutDestroy, &p.layoutB)
	free(&p.blas.lt.layoutDestroy, &p.layoutC)
	free(&p.blas.lt.descDestroy, &p.desc)
	return err
}

// Multiply computes the product of a plan. The bias is not used by a product without one. If beta
// is 0, the former contents of C do not matter.
func (s *Stream) Multiply(p *Plan, a, b, c, bias Address, alpha, beta float32) error {
	if (a|b|c)%Address(p.product.Alignment) != 0 || bias%biasAlignment != 0 {
		return fmt.Errorf("cuda:%d: a product of %v has matrices at %#x, %#x, %#x and a bias at %#x: "+
			"want multiples of %d, and of %d for the bias",
			s.device.info.Ordinal, p.product, a, b, c, bias, p.product.Alignment, biasAlignment)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.product.Bias && p.bias != uint64(bias) {
		if err := p.setBias(uint64(bias)); err != nil {
			return err
		}
	}
	lt := p.blas.lt
	*p.factors = [2]float32{alpha, beta}
	*p.arguments = [16]uintptr{p.blas.handle, p.desc, uintptr(unsafe.Pointer(&p.factors[0])),
		uintptr(b), p.layoutB, uintptr(a), p.layoutA, uintptr(unsafe.Pointer(&p.factors[1])),
		uintptr(c), p.layoutC, uintptr(c), p.layoutC, uintptr(unsafe.Pointer(&p.result.algo)),
		uintptr(p.blas.workspace.Address), uintptr(p.result.workspaceSize), s.handle}
	err := p.blas.call(&lt.matmul, p.arguments[:]...)
	runtime.KeepAlive(p)
	if err != nil {
		return fmt.Errorf("a product of %v: %w", p.product, err)
	}
	return nil
}
