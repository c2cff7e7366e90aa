package engine

import (
	"tandem/algo/numeric/model"
	"tandem/runtime/cuda"
)

// newPart returns what computes a part of a network for groups of up to samplesMax samples.
func (s *shared) newPart(described model.ProgramPart, m *memory, samplesMax int) part {
	switch d := described.(type) {
	case model.LayerPart:
		l := &layer{LayerPart: d}
		if d.Norm {
			l.normalized, l.mean, l.inverse = m.floats(samplesMax*d.Out), m.doubles(d.Out), m.doubles(d.Out)
		}
		if d.ReLU && s.inBF16[d.Output] {
			l.flows = m.raw((samplesMax*d.Out + 7) / 8)
		}
		return l
	case model.JoinPart:
		return join(d)
	case model.SumPart:
		return sum(d)
	case model.GatePart:
		return gate(d)
	case model.InteractionPart:
		return interaction(d)
	case model.LinearPart:
		return &linear{d, m.floats(len(d.Rows))}
	case model.FactorsPart:
		return &factors{d, m.floats(len(d.Rows))}
	case model.PairSumPart:
		return &pairSum{d, m.doubles(samplesMax * d.Dim)}
	}
	panic("engine: a part that model.ProgramPart does not list")
}

// layer is y = x·Wᵀ + b, batch norm, ReLU. The bias is part of the last product.
type layer struct {
	model.LayerPart
	normalized    cuda.Address // before gamma and beta
	mean, inverse cuda.Address // doubles
	// flows has a bit for each bf16 result of ReLU: its gradient flows.
	flows cuda.Address
}

func (d *layer) forward(p *pass) {
	out, n := &p.values[d.Output], p.samples
	to := into(out)
	if d.Norm && out.narrow { // statistics are those of fp32 values
		to = result{at: d.normalized, stride: d.Out}
	}
	d.eachInput(p, func(x int, width, first int) {
		bias := -1
		if first+width == d.In { // the last product has the whole sum
			bias = d.Bias
		}
		p.multiply(cuda.Product{Rows: n, Columns: d.Out, Inner: width, TransposeB: true},
			matrix{&p.values[x], 0, width}, matrix{nil, p.places.of(d.Weight) + first, d.In}, to, bias,
			first == 0)
	})
	if d.Norm {
		d.normalize(p, to.at)
	}
	if d.ReLU {
		args := []cuda.Arg{cuda.Pointer(out.at)}
		if out.narrow {
			args = append(args, cuda.Pointer(d.flows))
		}
		p.eachValue("relu", out, args...)
	}
}

// normalize is batch norm by the statistics of the group, which it keeps, of the sums at an address.
func (d *layer) normalize(p *pass, sums cuda.Address) {
	out, rows, cols := &p.values[d.Output], cuda.Int(p.samples), cuda.Int(d.Out)
	x, partial, mean := cuda.Pointer(sums), cuda.Pointer(p.partial[0]), cuda.Pointer(d.mean)
	chunks := cuda.Int(p.columns("column_sums", p.samples, d.Out, partial, x, rows, cols))
	p.each("norm_mean", d.Out, mean, partial, chunks, rows, cols)
	p.columns("norm_squares", p.samples, d.Out, partial, x, mean, rows, cols)
	p.each("norm_inverse", d.Out, cuda.Pointer(d.inverse), cuda.Pointer(p.stats.Floats(d.Running)),
		cuda.Pointer(p.stats.Floats(d.Running+d.Out)), mean, partial, chunks, rows, cols,
		cuda.Double(model.NormEpsilon))
	p.each(out.kernel("normalize"), p.samples*d.Out, cuda.Pointer(out.at), cuda.Pointer(d.normalized), x,
		rows, cols, mean, cuda.Pointer(d.inverse), cuda.Pointer(p.weight(d.Gamma)),
		cuda.Pointer(p.weight(d.Beta)))
}

func (d *layer) backward(p *pass) {
	grad, n := &p.grads[d.Output], p.samples
	rows, cols := cuda.Int(n), cuda.Int(d.Out)
	g, flows, partial := cuda.Pointer(grad.at), cuda.Pointer(p.value(d.Output)), cuda.Pointer(p.partial[0])
	if grad.narrow {
		flows = cuda.Pointer(d.flows)
	}
	if d.ReLU && !d.Norm && d.Bias >= 0 {
		chunks := p.columns(grad.kernel("relu_backward_sums"), n, d.Out, partial, g, flows, rows,
			cols)
		p.finish(p.gradient(d.Bias), chunks, d.Out)
	} else {
		if d.ReLU {
			p.eachValue("relu_backward", grad, g, flows)
		}
		if d.Norm {
			d.normalizeBackward(p, grad)
		}
		if d.Bias >= 0 {
			chunks := p.columns(grad.kernel("column_sums"), n, d.Out, partial, g, rows, cols)
			p.finish(p.gradient(d.Bias), chunks, d.Out)
		}
	}
	d.eachInput(p, func(x int, width, first int) {
		p.multiply(cuda.Product{Rows: d.Out, Columns: width, Inner: n, TransposeA: true},
			matrix{grad, 0, d.Out}, matrix{&p.values[x], 0, width},
			result{at: p.gradient(d.Weight).Floats(first), stride: d.In}, -1, true)
		if _, fresh, ok := p.flow(x); ok {
			weight := matrix{nil, p.places.of(d.Weight) + first, d.In}
			p.multiply(cuda.Product{Rows: n, Columns: width, Inner: d.Out}, matrix{grad, 0, d.Out}, weight,
				into(&p.grads[x]), -1, fresh)
		}
	})
}

func (d *layer) normalizeBackward(p *pass, grad *tensor) {
	rows, cols, normalized := cuda.Int(p.samples), cuda.Int(d.Out), cuda.Pointer(d.normalized)
	g := cuda.Pointer(grad.at)
	sums, dots := cuda.Pointer(p.partial[0]), cuda.Pointer(p.partial[1])
	chunks := p.columns(grad.kernel("norm_backward_sums"), p.samples, d.Out, sums, dots, g, normalized, rows,
		cols)
	p.each("norm_backward_finish", d.Out, sums, dots, cuda.Int(chunks), cols,
		cuda.Pointer(p.gradient(d.Gamma)), cuda.Pointer(p.gradient(d.Beta)))
	p.each(grad.kernel("norm_backward"), p.samples*d.Out, g, normalized, rows, cols, sums, dots,
		cuda.Pointer(d.inverse), cuda.Pointer(p.weight(d.Gamma)))
}

// eachInput visits the inputs that have values, with the first column of W that multiplies them.
func (d *layer) eachInput(p *pass, visit func(x int, width, first int)) {
	first := 0
	for _, x := range d.Inputs {
		if width := p.values[x].width; width > 0 {
			visit(x, width, first)
			first += width
		}
	}
}

type join model.JoinPart

func (j join) forward(p *pass) {
	to, first := &p.values[j.Output], 0
	for _, v := range j.Inputs {
		from := &p.values[v]
		p.copyColumns(to, first, from, 0, from.width, true)
		first += from.width
	}
}

func (j join) backward(p *pass) {
	from, first := &p.grads[j.Output], 0
	for _, v := range j.Inputs {
		width := p.values[v].width
		if _, fresh, ok := p.flow(v); ok {
			p.copyColumns(&p.grads[v], 0, from, first, width, fresh)
		}
		first += width
	}
}

// copyColumns appends a kernel that copies columns of one matrix to another, or adds them to what it holds.
func (p *pass) copyColumns(to *tensor, toFirst int, from *tensor, fromFirst, width int, fresh bool) {
	kernel := "copy_columns"
	switch {
	case to.narrow && from.narrow:
		kernel = "copy_columns_bf16"
	case to.narrow:
		kernel = "copy_columns_to_bf16"
	case from.narrow:
		kernel = "copy_columns_from_bf16"
	}
	p.each(kernel, p.samples*width, cuda.Pointer(to.at), cuda.Int(to.width), cuda.Int(toFirst),
		cuda.Pointer(from.at), cuda.Int(from.width), cuda.Int(fromFirst), cuda.Int(p.samples),
		cuda.Int(width), flag(fresh))
}

type sum model.SumPart

func (s sum) forward(p *pass) {
	out := p.value(s.Output)
	p.clear(out, p.samples)
	for _, v := range s.Inputs {
		p.add(out, p.value(v), p.samples)
	}
}

func (s sum) backward(p *pass) {
	for _, v := range s.Inputs {
		if to, ok := p.cleared(v); ok {
			p.add(to, p.grad(s.Output), p.samples)
		}
	}
}

func (s *shared) add(to, from cuda.Address, n int) {
	s.each("add", n, cuda.Pointer(to), cuda.Pointer(from), cuda.Int(n))
}

type gate model.GatePart

func (g gate) forward(p *pass) {
	n := p.samples * p.values[g.Output].width
	p.each(p.values[g.Y].kernel("gate"), n, cuda.Pointer(p.value(g.Output)), cuda.Pointer(p.value(g.X)),
		cuda.Pointer(p.value(g.Y)), cuda.Pointer(p.value(g.Z)), cuda.Int(n))
}

func (g gate) backward(p *pass) {
	n := p.samples * p.values[g.Output].width
	var args []cuda.Arg
	for _, v := range []int{g.X, g.Y, g.Z} {
		to, fresh, _ := p.flow(v)
		args = append(args, cuda.Pointer(to), flag(fresh))
	}
	args = append(args, cuda.Pointer(p.grad(g.Output)), cuda.Pointer(p.value(g.X)),
		cuda.Pointer(p.value(g.Y)), cuda.Int(n))
	p.each(p.values[g.Y].kernel("gate_backward"), n, args...)
}

// flag returns an argument that is 0 or 1.
func flag(set bool) cuda.Arg {
	if set {
		return cuda.Int(1)
	}
	return cuda.Int(0)
}

type interaction model.InteractionPart

// sharedMax is the shared memory that every block may have, in bytes.
const sharedMax = 48 << 10

// room returns the shared memory for the vectors of a sample and the gradients of their products, and 1; or 0
// and 0 if they are too large. Then all of them are fp32.
func (t interaction) room() (bytes, inShared int) {
	if bytes = 4 * (t.Count*(t.Dim+1) + t.Count*(t.Count-1)/2); bytes > sharedMax {
		return 0, 0
	}
	return bytes, 1
}

func (t interaction) forward(p *pass) {
	bytes, inShared := t.room()
	p.launch(t.kernel(p, "interaction", "_to_bf16"), cuda.Size{X: p.samples}, cuda.Size{X: 64}, bytes,
		cuda.Pointer(p.value(t.Output)), cuda.Pointer(p.value(t.Input)), cuda.Int(t.Count), cuda.Int(t.Dim),
		cuda.Int(inShared))
}

func (t interaction) backward(p *pass) {
	bytes, inShared := t.room()
	to, fresh, _ := p.flow(t.Input)
	p.launch(t.kernel(p, "interaction_backward", "_from_bf16"), cuda.Size{X: p.samples}, cuda.Size{X: 128},
		bytes, cuda.Pointer(to), cuda.Pointer(p.value(t.Input)), cuda.Pointer(p.grad(t.Output)),
		cuda.Int(t.Count), cuda.Int(t.Dim), flag(fresh), cuda.Int(inShared))
}

// kernel returns the form of a kernel for the types of input and output. Mixed ends the name of that for an
// input in fp32 and an output in bf16.
func (t interaction) kernel(p *pass, name, mixed string) string {
	if p.values[t.Output].narrow && !p.values[t.Input].narrow {
		return name + mixed
	}
	return p.values[t.Output].kernel(name)
}

type linear struct {
	model.LinearPart
	rows cuda.Address // places
}

// writePlaces writes where the rows of a sample begin, as the kernels take it.
func (r *replica) writePlaces(to cuda.Address, rows []int) {
	var all []int32
	for _, at := range rows {
		all = append(all, int32(at))
	}
	r.write(to, cuda.Bytes(all))
}

func (f *linear) forward(p *pass) {
	rows, numbers := p.values[model.PooledValue], p.values[model.NumbersValue]
	p.each("linear", p.samples*f.Heads, cuda.Pointer(p.value(f.Output)), cuda.Pointer(rows.at),
		cuda.Pointer(f.rows), cuda.Int(len(f.Rows)), cuda.Int(rows.width), cuda.Pointer(numbers.at),
		cuda.Int(numbers.width), cuda.Pointer(p.weightOrNone(f.Weight, numbers.width)),
		cuda.Pointer(p.weight(f.Bias)), cuda.Int(f.Heads), cuda.Int(p.samples))
}

// weightOrNone is weight for parameters of which there is one for each of n numbers.
func (p *pass) weightOrNone(offset, n int) cuda.Address {
	if n == 0 {
		return 0
	}
	return p.weight(offset)
}

func (f *linear) backward(p *pass) {
	width, grad := p.values[model.NumbersValue].width, &p.grads[f.Output]
	chunks := p.columns("column_sums", p.samples, f.Heads, cuda.Pointer(p.partial[0]), cuda.Pointer(grad.at),
		cuda.Int(p.samples), cuda.Int(f.Heads))
	p.finish(p.gradient(f.Bias), chunks, f.Heads)
	if width > 0 {
		p.multiply(cuda.Product{Rows: f.Heads, Columns: width, Inner: p.samples, TransposeA: true},
			matrix{grad, 0, f.Heads}, matrix{&p.values[model.NumbersValue], 0, width},
			result{at: p.gradient(f.Weight), stride: width}, -1, true)
	}
	if to, ok := p.cleared(model.PooledValue); ok {
		p.each("linear_backward", p.samples*len(f.Rows)*f.Heads, cuda.Pointer(to), cuda.Pointer(grad.at),
			cuda.Pointer(f.rows), cuda.Int(len(f.Rows)), cuda.Int(p.values[model.PooledValue].width),
			cuda.Int(f.Heads), cuda.Int(p.samples))
	}
}

type factors struct {
	model.FactorsPart
	rows cuda.Address // places
}

func (f *factors) forward(p *pass) {
	width := p.values[model.NumbersValue].width
	p.each("factors", p.samples*p.values[f.Output].width, cuda.Pointer(p.value(f.Output)),
		cuda.Pointer(p.value(model.PooledValue)), cuda.Pointer(f.rows), cuda.Int(len(f.Rows)),
		cuda.Int(p.values[model.PooledValue].width), cuda.Int(f.Dim),
		cuda.Pointer(p.value(model.NumbersValue)), cuda.Int(width),
		cuda.Pointer(p.weightOrNone(f.Vectors, width)), cuda.Int(p.samples))
}

func (f *factors) backward(p *pass) {
	width, grad := p.values[model.NumbersValue].width, p.grad(f.Output)
	if to, ok := p.cleared(model.PooledValue); ok {
		p.each("factors_backward_rows", p.samples*len(f.Rows)*f.Dim, cuda.Pointer(to), cuda.Pointer(grad),
			cuda.Pointer(f.rows), cuda.Int(len(f.Rows)), cuda.Int(p.values[model.PooledValue].width),
			cuda.Int(f.Dim), cuda.Int(width), cuda.Int(p.samples))
	}
	if cols := width * f.Dim; cols > 0 {
		chunks := p.columns("factors_backward", p.samples, cols, cuda.Pointer(p.partial[0]),
			cuda.Pointer(grad), cuda.Pointer(p.value(model.NumbersValue)), cuda.Int(len(f.Rows)),
			cuda.Int(f.Dim), cuda.Int(width), cuda.Int(p.samples))
		p.finish(p.gradient(f.Vectors), chunks, cols)
	}
}

type pairSum struct {
	model.PairSumPart
	sums cuda.Address // doubles, of every sample
}

func (s *pairSum) forward(p *pass) {
	const warp = 32
	p.launch("pair_sum", cuda.Size{X: p.samples}, cuda.Size{X: warp}, 0, cuda.Pointer(p.value(s.Output)),
		cuda.Pointer(s.sums), cuda.Pointer(p.value(s.Input)), cuda.Int(p.values[s.Input].width/s.Dim),
		cuda.Int(s.Dim))
}

func (s *pairSum) backward(p *pass) {
	width := p.values[s.Input].width
	to, _ := p.cleared(s.Input)
	p.each("pair_sum_backward", p.samples*width, cuda.Pointer(to), cuda.Pointer(p.value(s.Input)),
		cuda.Pointer(s.sums), cuda.Pointer(p.grad(s.Output)), cuda.Int(width/s.Dim), cuda.Int(s.Dim),
		cuda.Int(p.samples))
}
