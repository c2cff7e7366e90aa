package gemm

import "sync"

// fused computes the built-in products in assembly.
//
// C is cut into blocks along its longer side, and each block is a task. Tiles read
// packed strips of B. If the blocks are columns, each task packs its own strips; if they
// are rows, other tasks pack all strips beforehand. A is read in place unless it is
// transposed. A·Bᵀ with few rows is computed as (B·Aᵀ)ᵀ, so that the large operand is
// read in place and the small one transposed.
//
// Cost: it allocates only when more products and tasks run at the same time than ever
// before.
//
// Source: Goto, van de Geijn, Anatomy of high-performance matrix multiplication,
// TOMS 34 (2008). Deviation: A keeps its rows, since a broadcast costs the same
// from anywhere, and the first tiles of a block pack the strips of B that they use.
type fused struct {
	*assembly
	pool Pool // nil: the calling goroutine only

	idle    sync.Mutex // guards calls and buffers
	calls   []*call
	buffers []*buffer
}

// Sizes of blocks. Measured on an Ice Lake Xeon with 1.25 MiB of second-level
// cache, 2026-11-21: half and twice of each cost up to a tenth at some size.
const (
	// blockFloats is the size of a block of B, which all rows of a task read: 512 KiB.
	blockFloats = 512 * depth
	// taskRows is the largest number of rows of a task that packs A, or transposes C.
	taskRows = 168
	// sharedSide and sharedFloats limit the operand that is packed for all tasks: its
	// rows of A or columns of B, and 8 MiB for more than one depth.
	sharedSide   = 2048
	sharedFloats = 1 << 21
	// transposedCols is the largest number of columns of a transposed product.
	transposedCols = 512
	// minPoolWork is the number of multiply-adds from which on a pool pays.
	minPoolWork = 1 << 20
)

// Name implements Products.
func (f *fused) Name() string { return "built-in kernels, " + f.name }

// Gemm implements Products. The bits are those of Scalar.
func (f *fused) Gemm(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int,
	beta float32, c []float32, ldc int) {
	Check(transA, transB, m, n, k, a, lda, b, ldb, c, ldc)
	if m == 0 || n == 0 {
		return
	}
	if k == 0 || beta != 0 {
		scaleRows(m, n, beta, c, ldc)
	}
	if k == 0 {
		return
	}
	p := f.begin()
	p.m, p.n, p.k, p.c, p.ldc, p.add = m, n, k, c, ldc, beta != 0
	p.a, p.b = matrix{a, lda, transA}, matrix{b, ldb, transB}
	p.transposed = transB && 8*m <= n && m <= transposedCols
	if p.transposed {
		p.m, p.n = n, m
		p.a, p.b = matrix{b, ldb, false}, matrix{a, lda, !transA}
	}
	p.run()
	f.end(p)
}

// A call is one product in progress.
type call struct {
	*fused
	m, n, k    int
	a, b       matrix
	c          []float32
	ldc        int
	add        bool // to C
	transposed bool // C is n×m

	// The current part of the product: columns l0 to l1 of A by rows of B, for the rows
	// of A (columns of B if byRows) between from and to, which all tasks share.
	byRows   bool // tasks are blocks of rows and B is shared
	from, to int
	l0, l1   int
	tasks    int
	shared   []float32

	pack, compute func(task int) // methods, bound once
}

// A buffer holds the operands that one task packs, and its result if C is transposed.
type buffer struct{ a, b, c []float32 }

func (f *fused) begin() *call {
	f.idle.Lock()
	defer f.idle.Unlock()
	if last := len(f.calls) - 1; last >= 0 {
		p := f.calls[last]
		f.calls = f.calls[:last]
		return p
	}
	p := &call{fused: f}
	p.pack, p.compute = p.packShared, p.computeTask
	return p
}

func (f *fused) end(p *call) {
	p.a, p.b, p.c = matrix{}, matrix{}, nil // the caller's
	f.idle.Lock()
	defer f.idle.Unlock()
	f.calls = append(f.calls, p)
}

func (f *fused) getBuffer() *buffer {
	f.idle.Lock()
	defer f.idle.Unlock()
	if last := len(f.buffers) - 1; last >= 0 {
		b := f.buffers[last]
		f.buffers = f.buffers[:last]
		return b
	}
	return &buffer{}
}

func (f *fused) putBuffer(b *buffer) {
	f.idle.Lock()
	defer f.idle.Unlock()
	f.buffers = append(f.buffers, b)
}

// resize returns x, or a new slice if it has too few elements.
func resize(x []float32, n int) []float32 {
	if len(x) < n {
		return aligned(n)
	}
	return x
}

func (p *call) run() {
	width := p.width()
	p.byRows = p.m >= p.n
	shares := p.byRows || p.a.transposed
	// The side that is cut, in strips or rows, and the largest and, with a pool, the
	// smallest size of a task.
	whole, long, most, least := p.m, ceil(p.n, width), p.blockCols()/width, 4
	if p.byRows {
		whole, long, most, least = p.n, p.m, taskRows, 4*p.rows
	}
	size := 1
	if p.pool != nil && p.m*p.n*p.k >= minPoolWork {
		size = p.pool.Size()
		most = min(most, max(ceil(long, 4*size), least)) // so that no worker waits long for the last task
	}
	p.tasks = min(ceil(ceil(long, most), size)*size, long)
	if !shares {
		p.from, p.to, p.l0, p.l1 = 0, whole, 0, p.k
		p.forEach(p.tasks, p.compute, size)
		return
	}
	for p.from = 0; p.from < whole; p.from += sharedSide {
		p.to = min(p.from+sharedSide, whole)
		one := p.blockSize() // for each depth
		step := max(1, sharedFloats/one) * depth
		p.shared = resize(p.shared, one*min(step/depth, ceil(p.k, depth)))
		for p.l0 = 0; p.l0 < p.k; p.l0 += step {
			p.l1 = min(p.l0+step, p.k)
			p.forEach(p.packUnits()*ceil(p.l1-p.l0, depth), p.pack, size)
			p.forEach(p.tasks, p.compute, size)
		}
	}
}

// forEach runs tasks, on the pool if there is more than one.
func (p *call) forEach(tasks int, work func(task int), size int) {
	if size > 1 && tasks > 1 {
		p.pool.ForEach(tasks, work)
		return
	}
	for task := range tasks {
		work(task)
	}
}

// blockCols returns the number of columns of a block of B: more where k is small,
// since long rows of C suit the memory.
func (p *call) blockCols() int {
	return min(blockFloats/min(p.k, depth), 2048) / p.width() * p.width()
}

func ceil(x, y int) int { return (x + y - 1) / y }

// blockSize returns the size of the shared operand for each depth.
func (p *call) blockSize() int {
	if p.byRows {
		return ceil(p.to-p.from, p.width()) * p.stripSize(depth)
	}
	return (p.to - p.from) * packedStride
}

// packUnits returns the number of tasks that pack a block.
func (p *call) packUnits() int { return ceil(p.to-p.from, packedAtOnce) }

// packedAtOnce is the number of rows of A or columns of B that one task packs: a
// multiple of the width of every strip.
const packedAtOnce = 128

// packShared packs one part of the shared operand.
func (p *call) packShared(task int) {
	units := p.packUnits()
	block := task / units
	l := p.l0 + block*depth
	k := min(depth, p.l1-l)
	i := task % units * packedAtOnce
	count := min(packedAtOnce, p.to-p.from-i)
	dst := p.shared[block*p.blockSize():]
	if p.byRows {
		p.packB(dst[i/p.width()*p.stripSize(k):], p.b.from(l, p.from+i), k, count)
	} else {
		p.packA(dst[i*packedStride:], p.a.from(p.from+i, l), count, k)
	}
}

// computeTask computes a block of C.
func (p *call) computeTask(task int) {
	buf := p.getBuffer()
	switch {
	case p.transposed:
		p.computeTransposed(task, buf)
	case p.byRows:
		i, end := task*p.m/p.tasks, (task+1)*p.m/p.tasks
		p.computeRows(i, end, buf, p.c[i*p.ldc+p.from:], p.ldc, p.add || p.l0 > 0)
	default:
		p.computeCols(task, buf)
	}
	p.putBuffer(buf)
}

// computeRows computes rows i to end of the columns from to to, into c.
func (p *call) computeRows(i, end int, buf *buffer, c []float32, ldc int, add bool) {
	shared, size := p.shared, p.blockSize()
	for l := p.l0; l < p.l1; l += depth {
		k := min(depth, p.l1-l)
		x := p.a.from(i, l)
		a := left{data: x.data, ld: x.ld}
		if p.a.transposed {
			buf.a = resize(buf.a, taskRows*packedStride)
			p.packA(buf.a, x, end-i, k)
			a = left{data: buf.a, ld: packedStride}
		}
		wide := p.blockCols()
		for j := 0; j < p.to-p.from; j += wide {
			cols := min(wide, p.to-p.from-j)
			p.multiply(end-i, cols, k, a, p.packed(shared[j/p.width()*p.stripSize(k):], k), c[j:], ldc,
				add || l > p.l0)
		}
		shared = shared[min(size, len(shared)):]
	}
}

// computeTransposed computes rows of a product and transposes them into C.
func (p *call) computeTransposed(task int, buf *buffer) {
	i, end := task*p.m/p.tasks, (task+1)*p.m/p.tasks
	cols := p.to - p.from
	stride := ceil(cols, p.lanes)*p.lanes + 16
	buf.c = resize(buf.c, taskRows*(transposedCols+16))
	c := p.c[p.from*p.ldc+i:]
	add := p.add || p.l0 > 0
	if add {
		p.transposeTo(buf.c, stride, c, p.ldc, cols, end-i)
	}
	p.computeRows(i, end, buf, buf.c, stride, add)
	p.transposeTo(c, p.ldc, buf.c, stride, end-i, cols)
}

// computeCols computes strips of the rows from to to.
func (p *call) computeCols(task int, buf *buffer) {
	buf.b = resize(buf.b, blockFloats)
	strips := ceil(p.n, p.width())
	j := task * strips / p.tasks * p.width()
	cols := min((task+1)*strips/p.tasks*p.width(), p.n) - j
	c := p.c[p.from*p.ldc+j:]
	for l := p.l0; l < p.l1; l += depth {
		k := min(depth, p.l1-l)
		x := p.a.from(p.from, l)
		a := left{data: x.data, ld: x.ld}
		if p.a.transposed {
			a = left{data: p.shared[(l-p.l0)/depth*p.blockSize():], ld: packedStride}
		}
		b := p.packed(buf.b, k)
		if x := p.b.from(l, j); x.transposed {
			p.packB(buf.b, x, k, cols)
		} else {
			p.packEdge(buf.b, x, k, cols)
			b = right{data: x.data, ld: x.ld, between: p.width(), keep: buf.b}
		}
		p.multiply(p.to-p.from, cols, k, a, b, c, p.ldc, p.add || l > 0)
	}
}
