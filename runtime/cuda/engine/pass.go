package engine

import (
	"errors"
	"fmt"
	"slices"

	"tandem/algo/numeric/model"
	"tandem/runtime/cuda"
	"tandem/runtime/cuda/kernels"
)

// pass has what one group of a rank needs on the device. Its methods append work to the compute stream, and
// do nothing after an error.
type pass struct {
	*shared
	samples int
	values  []tensor // by value
	grads   []tensor // by value; none for numbers
	begun   []bool   // the gradient of a value is of the group in hand
	labels  cuda.Address
	losses  cuda.Address // doubles, one for each label
	stats   cuda.Address // as Layout.Stats, without the number of samples
	// gradients are those of the parameters.
	gradients cuda.Address
	parts     []part
}

// tensor is a matrix of samples × width values on the device.
type tensor struct {
	at    cuda.Address // of fp32 values, or of bf16 values if it is narrow
	width int
	// narrow says that there are bf16 values alone: see narrowValues.
	narrow bool
	// Where products take bf16, a tensor that is not narrow has room for a copy of its values; copied says
	// that the copy has those of the group in hand.
	copy   cuda.Address
	copied bool
}

// kernel returns the form of a kernel that takes the tensor.
func (t *tensor) kernel(name string) string {
	if t.narrow {
		return name + "_bf16"
	}
	return name
}

// part computes one part of a network.
type part interface {
	forward(p *pass)
	// backward computes the gradients of the part's parameters, and adds to the gradients of its inputs.
	backward(p *pass)
}

// shared is what the groups of a rank share: they are computed one after the other.
type shared struct {
	device   *device
	compute  *cuda.Stream
	program  *model.Program
	places   *places
	operands cuda.Type
	inBF16   []bool       // by value: see narrowValues
	params   cuda.Address // the parameters
	// narrow has the parameters as bf16, if products take that; narrowed says that it has the present ones.
	narrow   cuda.Address
	narrowed bool
	partial  [2]cuda.Address // partial sums of columns
	memory   *memory
	blas     *cuda.BLAS // its products follow each other on the compute stream
	plans    map[cuda.Product]planned
	// multiplied are the products of the latest step that was not launched as graphs.
	multiplied []Multiplication
	err        error
}

// newPass returns the scratch of a group of up to samplesMax samples; the gradients of the parameters go to
// gradients, and those of the pooled embeddings to pooled.
func newPass(s *shared, m *memory, samplesMax int, gradients, pooled cuda.Address) *pass {
	l := s.program.Layout
	p := &pass{shared: s, begun: make([]bool, len(s.program.Widths)), gradients: gradients,
		labels: m.floats(samplesMax * l.Labels), losses: m.doubles(samplesMax * l.Labels),
		stats: m.floats(l.Running)}
	for v, width := range s.program.Widths {
		narrow := s.inBF16[v]
		p.values = append(p.values, s.newTensor(m, roomFor(m, samplesMax*width, narrow), samplesMax, width,
			narrow))
		at := pooled
		if v == model.NumbersValue {
			width = 0
		}
		if v != model.PooledValue {
			at = roomFor(m, samplesMax*width, narrow)
		}
		p.grads = append(p.grads, s.newTensor(m, at, samplesMax, width, narrow))
	}
	for _, described := range s.program.Parts {
		p.parts = append(p.parts, s.newPart(described, m, samplesMax))
	}
	return p
}

// roomFor allocates the values of a tensor. Those of narrow ones are whole eights.
func roomFor(m *memory, values int, narrow bool) cuda.Address {
	if narrow {
		return m.raw((2*values + alignment - 1) / alignment * alignment)
	}
	return m.floats(values)
}

// newTensor returns a tensor at an address.
func (s *shared) newTensor(m *memory, at cuda.Address, samplesMax, width int, narrow bool) tensor {
	t := tensor{at: at, width: width, narrow: narrow}
	if s.operands == cuda.BF16 && !narrow {
		t.copy = m.raw(2 * samplesMax * width)
	}
	return t
}

// narrowValues returns which values of a network, and their gradients, are kept as bf16 alone where products
// take bf16: the results of layers, joins and interactions that go to such parts again, and not, through a
// join, to the loss. Inputs, logits and sums over the factors of a row stay fp32, and so does what passes the
// cross layers of a DCN from one to the next.
func narrowValues(program *model.Program, operands cuda.Type) []bool {
	narrow := make([]bool, len(program.Widths))
	if operands != cuda.BF16 {
		return narrow
	}
	for _, part := range program.Parts {
		switch d := part.(type) {
		case model.LayerPart:
			narrow[d.Output] = true
		case model.JoinPart:
			narrow[d.Output] = true
		case model.InteractionPart:
			_, inShared := interaction(d).room()
			narrow[d.Output] = inShared == 1
		}
	}
	narrow[program.Output] = false
	widen := func(values ...int) {
		for _, v := range values {
			narrow[v] = false
		}
	}
	for _, part := range slices.Backward(program.Parts) {
		switch d := part.(type) {
		case model.JoinPart:
			if !narrow[d.Output] {
				widen(d.Inputs...)
			}
		case model.InteractionPart:
			if !narrow[d.Output] {
				widen(d.Input)
			}
		case model.SumPart:
			widen(d.Inputs...)
		case model.GatePart:
			widen(d.X, d.Z)
		case model.PairSumPart:
			widen(d.Input)
		}
	}
	return narrow
}

// forward computes the logits of the group, its losses and the gradient of the sum of the losses.
func (p *pass) forward(loss, weights, positive cuda.Address) {
	for v := range p.values {
		p.begun[v], p.values[v].copied, p.grads[v].copied = false, false, false
	}
	if p.samples == 0 {
		p.clear(p.stats, p.program.Layout.Running)
		p.clear(loss, 2)
		return
	}
	for _, part := range p.parts {
		part.forward(p)
	}
	heads := p.program.Layout.Labels
	n := p.samples * heads
	p.each("cross_entropy", n, cuda.Pointer(p.grad(p.program.Output)), cuda.Pointer(p.losses),
		cuda.Pointer(p.value(p.program.Output)), cuda.Pointer(p.labels), cuda.Pointer(weights),
		cuda.Pointer(positive), cuda.Int(heads), cuda.Int(n))
	p.launch("sum_losses", cuda.Size{X: 1}, cuda.Size{X: kernels.SumThreads}, 0, cuda.Pointer(loss),
		cuda.Pointer(p.losses), cuda.Int(n))
}

// backward computes the gradients of one bucket, which the parts [from, to) have.
func (p *pass) backward(from, to int, bucket model.Bucket) {
	if p.samples == 0 {
		lo, hi := p.places.span(bucket.Lo, bucket.Hi)
		p.clear(p.gradients.Floats(lo), hi-lo)
		return
	}
	for i := to - 1; i >= from; i-- {
		p.parts[i].backward(p)
	}
}

func (p *pass) value(v int) cuda.Address { return p.values[v].at }

func (p *pass) grad(v int) cuda.Address { return p.grads[v].at }

// flow returns the gradient of an input to which the part in hand adds, and whether it is the first: then it
// holds nothing. Numbers have no gradient: ok is false.
func (p *pass) flow(v int) (grad cuda.Address, fresh, ok bool) {
	fresh = !p.begun[v]
	p.begun[v] = true
	return p.grad(v), fresh, v != model.NumbersValue && p.grads[v].width > 0
}

// cleared is flow, with zeros where nothing is held.
func (p *pass) cleared(v int) (grad cuda.Address, ok bool) {
	grad, fresh, ok := p.flow(v)
	if fresh && ok {
		p.clear(grad, p.samples*p.grads[v].width)
	}
	return grad, ok
}

// weight returns where the parameters of an offset lie, and gradient where their gradients do.
func (p *pass) weight(offset int) cuda.Address   { return p.params.Floats(p.places.of(offset)) }
func (p *pass) gradient(offset int) cuda.Address { return p.gradients.Floats(p.places.of(offset)) }

// launch appends a kernel.
func (s *shared) launch(kernel string, grid, block cuda.Size, sharedBytes int, args ...cuda.Arg) {
	if s.err == nil {
		s.err = s.compute.Launch(s.device.functions[kernel], grid, block, sharedBytes, args...)
	}
}

// eachThreads is the number of threads of a block that visits elements, eachBlocks the largest number of such
// blocks: several for each multiprocessor of the largest devices.
const (
	eachThreads = 256
	eachBlocks  = 2048
)

// each appends a kernel that visits n elements.
func (s *shared) each(kernel string, n int, args ...cuda.Arg) {
	if n > 0 {
		blocks := min((n+eachThreads-1)/eachThreads, eachBlocks)
		s.launch(kernel, cuda.Size{X: blocks}, cuda.Size{X: eachThreads}, 0, args...)
	}
}

// eachValue appends a kernel that visits the values of a tensor, eight at once if they are bf16.
func (p *pass) eachValue(kernel string, t *tensor, args ...cuda.Arg) {
	n := p.samples * t.width
	if t.narrow {
		n = (n + 7) / 8
	}
	p.each(t.kernel(kernel), n, append(args, cuda.Int(n))...)
}

// columns appends a kernel that leaves partial sums of the columns of a matrix. It returns their number.
func (s *shared) columns(kernel string, rows, cols int, args ...cuda.Arg) (chunks int) {
	chunks = chunksOf(rows)
	s.launch(kernel, cuda.Size{X: (cols + kernels.ColumnsPerBlock - 1) / kernels.ColumnsPerBlock, Y: chunks},
		cuda.Size{X: kernels.ColumnsPerBlock, Y: kernels.RowsPerBlock}, 0, args...)
	return chunks
}

func chunksOf(rows int) int { return max(1, (rows+kernels.ChunkRows-1)/kernels.ChunkRows) }

// finish writes the sums of columns whose partial sums are in the first buffer.
func (s *shared) finish(to cuda.Address, chunks, cols int) {
	s.each("finish_columns", cols, cuda.Pointer(to), cuda.Pointer(s.partial[0]), cuda.Int(chunks),
		cuda.Int(cols))
}

func (s *shared) clear(at cuda.Address, floats int) {
	if s.err == nil && floats > 0 {
		s.err = s.compute.Clear(at, 4*floats)
	}
}

// write copies bytes to the device, and waits for them.
func (s *shared) write(to cuda.Address, from []byte) {
	if s.err == nil && len(from) > 0 {
		s.err = s.compute.CopyIn(to, from)
	}
	if s.err == nil {
		s.err = s.compute.Sync()
	}
}

// copyBack copies memory of the device, and waits for it.
func (s *shared) copyBack(to []byte, from cuda.Address) error {
	if s.err == nil && len(to) > 0 {
		s.err = s.compute.CopyOut(to, from)
	}
	if s.err == nil {
		s.err = s.compute.Sync()
	}
	return s.err
}

// matrix is an operand of a product: values from an offset of a tensor on, in rows of stride values.
type matrix struct {
	of     *tensor // nil: the parameters
	offset int
	stride int
}

// operand returns where the operands of products find a matrix, converting what is not converted yet.
func (p *pass) operand(m matrix) cuda.Address {
	wide, narrow, narrowed, n := p.shared.params, p.narrow, &p.narrowed, p.places.length
	if m.of != nil {
		wide, narrow, narrowed, n = m.of.at, m.of.copy, &m.of.copied, p.samples*m.of.width
	}
	switch {
	case m.of != nil && m.of.narrow:
		return m.of.at.Add(2 * m.offset)
	case p.operands != cuda.BF16:
		return wide.Floats(m.offset)
	}
	if !*narrowed {
		*narrowed = true
		p.each("to_bf16", n, cuda.Pointer(narrow), cuda.Pointer(wide), cuda.Int(n))
	}
	return narrow.Add(2 * m.offset)
}

// into returns the result of a product that is a tensor.
func into(t *tensor) result {
	r := result{at: t.at, stride: t.width}
	if t.narrow {
		r.kind = cuda.BF16
	}
	return r
}

// result is where a product leaves its numbers, in rows of stride values.
type result struct {
	at     cuda.Address
	stride int
	kind   cuda.Type // F32 or BF16
}

// multiply appends c = a·b, or c += a·b. The product gives shape and form of the operands. A bias that is not
// −1 is the offset of the parameters that are added to each row.
func (p *pass) multiply(shape cuda.Product, a, b matrix, c result, bias int, fresh bool) {
	shape.Type, shape.Out = p.operands, c.kind
	shape.StrideA, shape.StrideB, shape.StrideC = a.stride, b.stride, c.stride
	shape.Alignment = alignmentOf(p.operands.Bytes()*a.offset, p.operands.Bytes()*b.offset,
		int(c.at%alignment))
	shape.Bias = bias >= 0
	plan := p.plan(shape)
	p.multiplied = append(p.multiplied, Multiplication{Product: shape, Adds: !fresh})
	from, by, added := p.operand(a), p.operand(b), cuda.Address(0)
	if shape.Bias && !plan.apart {
		added = p.biasOf(bias, c.kind)
	}
	if p.err == nil {
		beta := float32(1)
		if fresh {
			beta = 0
		}
		p.err = p.compute.Multiply(plan.Plan, from, by, c.at, added, 1, beta)
	}
	if plan.apart {
		kernel := "add_bias"
		if c.kind == cuda.BF16 {
			kernel = "add_bias_bf16"
		}
		p.each(kernel, shape.Rows*shape.Columns, cuda.Pointer(c.at), cuda.Pointer(p.weight(bias)),
			cuda.Int(shape.Rows), cuda.Int(shape.Columns))
	}
}

// planned is a product with the algorithm that the library has for it.
type planned struct {
	*cuda.Plan
	apart bool // a kernel behind the product adds its bias
}

// plan returns the plan of a product, without its bias if the library has no algorithm with it.
func (p *pass) plan(shape cuda.Product) (found planned) {
	found, ok := p.plans[shape]
	if ok || p.err != nil {
		return found
	}
	key := shape
	found.Plan, p.err = p.blas.Plan(shape)
	if shape.Bias && errors.Is(p.err, cuda.ErrNoAlgorithm) {
		shape.Bias, found.apart = false, true
		if found.Plan, p.err = p.blas.Plan(shape); p.err == nil {
			p.device.note(fmt.Sprintf("cuda:%d: cuBLASLt adds no bias to a product of %v: kernels add "+
				"biases apart, which is slower", p.device.Info().Ordinal, shape))
		}
	}
	if p.err == nil {
		p.plans[key] = found
		p.memory.closers = append(p.memory.closers, found.Plan)
	}
	return found
}

// biasOf returns where a bias lies in the type of the result to which it is added, as the library wants it.
func (p *pass) biasOf(offset int, kind cuda.Type) cuda.Address {
	if kind == cuda.BF16 {
		return p.operand(matrix{nil, p.places.of(offset), 1})
	}
	return p.weight(offset)
}

// alignmentOf returns the alignment that all offsets in bytes keep.
func alignmentOf(offsets ...int) int {
	at := alignment
	for _, offset := range offsets {
		for offset%at != 0 {
			at /= 2
		}
	}
	return at
}
