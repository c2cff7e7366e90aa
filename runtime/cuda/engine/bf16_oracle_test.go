package engine_test

import (
	"math"
	"slices"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
)

// oracle computes a step of a network in bf16 as the documentation describes it: sums in float64, which are
// rounded where the engine keeps them. It shares no code with the engine or with the kernels.
type oracle struct {
	*model.Program
	params  []float32
	samples int
	values  [][]float64 // by value, samples × width
	grads   [][]float64
	begun   []bool // the gradient of a value holds something
	norms   map[int]norm
	sums    []float64 // the gradients of the parameters
	loss    float64
}

// norm is what the backward pass of a batch norm needs.
type norm struct{ normalized, inverse []float64 }

// rounded returns the nearest bf16, ties to even.
func rounded(x float64) float64 {
	bits := math.Float32bits(float32(x))
	low := bits & 0xffff
	bits -= low
	if low > 0x8000 || low == 0x8000 && bits&0x10000 != 0 {
		bits += 0x10000
	}
	return float64(math.Float32frombits(bits))
}

// narrow reports whether a value is kept as bf16: the result of a layer, a join or an interaction of which
// every use is by such a part, or as the Y of a gate.
func (o *oracle) narrow(v int) bool {
	if v == o.Output {
		return false
	}
	made := false
	for _, part := range o.Parts {
		switch d := part.(type) {
		case model.LayerPart:
			made = made || d.Output == v
		case model.InteractionPart:
			// What it takes beyond the shared memory of a block stays fp32.
			inShared := 4*(d.Count*(d.Dim+1)+d.Count*(d.Count-1)/2) <= 48<<10
			if d.Input == v && !inShared {
				return false
			}
			made = made || d.Output == v && inShared
		case model.JoinPart:
			made = made || d.Output == v
			if slices.Contains(d.Inputs, v) && !o.narrow(d.Output) {
				return false
			}
		case model.GatePart:
			if d.X == v || d.Z == v {
				return false
			}
		}
	}
	return made
}

// kept returns a number as the engine keeps it for a value.
func (o *oracle) kept(v int, x float64) float64 {
	if o.narrow(v) {
		return rounded(x)
	}
	return float64(float32(x))
}

// add adds to the gradient of a value, whose first summand is kept without a sum.
func (o *oracle) add(v int, by []float64) {
	if v == model.NumbersValue {
		return
	}
	for i, x := range by {
		if o.begun[v] {
			x += o.grads[v][i]
		}
		o.grads[v][i] = o.kept(v, x)
	}
	o.begun[v] = true
}

// step computes losses and gradients of one group.
func (o *oracle) step(part *batch.Part, pooled []float32) {
	o.samples, o.norms = part.Samples, map[int]norm{}
	o.sums, o.begun = make([]float64, o.Layout.Params), make([]bool, len(o.Widths))
	o.values, o.grads = nil, nil
	for _, width := range o.Widths {
		o.values = append(o.values, make([]float64, o.samples*width))
		o.grads = append(o.grads, make([]float64, o.samples*width))
	}
	for v, from := range map[int][]float32{model.PooledValue: pooled, model.NumbersValue: part.Dense} {
		for i := range o.values[v] {
			o.values[v][i] = float64(from[i])
		}
	}
	for i, part := range o.Parts {
		o.forward(i, part)
	}
	for i, z := range o.values[o.Output] {
		weight, y := float64(o.LossWeights[i%o.Layout.Labels]), float64(part.Labels[i])
		if y > 0.5 {
			weight *= float64(o.PositiveWeights[i%o.Layout.Labels])
		}
		o.loss += weight * (math.Log1p(math.Exp(-math.Abs(z))) + math.Max(z, 0) - y*z)
		o.grads[o.Output][i] = float64(float32(weight * (1/(1+math.Exp(-z)) - y)))
	}
	o.begun[o.Output] = true
	for i, part := range slices.Backward(o.Parts) {
		o.backward(i, part)
	}
}

func (o *oracle) forward(i int, part model.ProgramPart) {
	switch d := part.(type) {
	case model.LayerPart:
		o.forwardLayer(i, d)
	case model.JoinPart:
		o.joined(d.Inputs, d.Output, func(v, from, to int) {
			o.values[d.Output][to] = o.kept(d.Output, o.values[v][from])
		})
	case model.GatePart:
		for i, x := range o.values[d.X] {
			o.values[d.Output][i] = float64(float32(x*o.values[d.Y][i] + o.values[d.Z][i]))
		}
	case model.InteractionPart:
		in, out := o.values[d.Input], o.values[d.Output]
		o.pairs(d, func(pair, a, b int) { out[pair] += in[a] * in[b] })
		for i, x := range out {
			out[i] = o.kept(d.Output, x)
		}
	default:
		panic("the oracle does not know a part")
	}
}

// joined visits the values that a join puts side by side.
func (o *oracle) joined(inputs []int, output int, visit func(v, from, to int)) {
	for i := range o.samples {
		first := i * o.Widths[output]
		for _, v := range inputs {
			for j := range o.Widths[v] {
				visit(v, i*o.Widths[v]+j, first+j)
			}
			first += o.Widths[v]
		}
	}
}

// pairs visits the products of which the results of an interaction are sums.
func (o *oracle) pairs(d model.InteractionPart, visit func(pair, a, b int)) {
	pair := 0
	for i := range o.samples {
		at := i * d.Count * d.Dim
		for a := range d.Count {
			for b := range a {
				for k := range d.Dim {
					visit(pair, at+a*d.Dim+k, at+b*d.Dim+k)
				}
				pair++
			}
		}
	}
}

// weights visits the weights of a layer in the order of its inputs.
func (o *oracle) weights(d model.LayerPart, input func(v int, visit func(each func(row, column, at int)))) {
	first := 0
	for _, v := range d.Inputs {
		if width := o.Widths[v]; width > 0 {
			input(v, func(each func(row, column, at int)) {
				for row := range d.Out {
					for column := range width {
						each(row, column, d.Weight+row*d.In+first+column)
					}
				}
			})
			first += width
		}
	}
}

func (o *oracle) forwardLayer(number int, d model.LayerPart) {
	out, seen := o.values[d.Output], 0
	o.weights(d, func(v int, visit func(each func(row, column, at int))) {
		visit(func(row, column, at int) {
			weight := rounded(float64(o.params[at]))
			for i := range o.samples {
				out[i*d.Out+row] += rounded(o.values[v][i*o.Widths[v]+column]) * weight
			}
		})
		seen += o.Widths[v]
		for i := range out {
			if seen == d.In && d.Bias >= 0 {
				if bias := float64(o.params[d.Bias+i%d.Out]); o.narrow(d.Output) && !d.Norm {
					out[i] += rounded(bias)
				} else {
					out[i] += bias
				}
			}
			if d.Norm { // statistics are those of fp32 values
				out[i] = float64(float32(out[i]))
			} else {
				out[i] = o.kept(d.Output, out[i])
			}
		}
	})
	if d.Norm {
		o.norms[number] = o.normalize(d, out)
	}
	for i := range out {
		if d.ReLU && out[i] <= 0 {
			out[i] = 0
		}
	}
}

func (o *oracle) normalize(d model.LayerPart, out []float64) norm {
	n := norm{make([]float64, len(out)), make([]float64, d.Out)}
	for j := range d.Out {
		mean, squares := 0.0, 0.0
		for i := j; i < len(out); i += d.Out {
			mean += out[i] / float64(o.samples)
		}
		for i := j; i < len(out); i += d.Out {
			squares += (out[i] - mean) * (out[i] - mean)
		}
		n.inverse[j] = 1 / math.Sqrt(squares/float64(o.samples)+model.NormEpsilon)
		for i := j; i < len(out); i += d.Out {
			v := float64(float32((out[i] - mean) * n.inverse[j]))
			n.normalized[i] = v
			out[i] = o.kept(d.Output, float64(o.params[d.Gamma+j])*v+float64(o.params[d.Beta+j]))
		}
	}
	return n
}

func (o *oracle) backward(i int, part model.ProgramPart) {
	switch d := part.(type) {
	case model.LayerPart:
		o.backwardLayer(i, d)
	case model.JoinPart:
		parts := map[int][]float64{}
		for _, v := range d.Inputs {
			parts[v] = make([]float64, len(o.grads[v]))
		}
		o.joined(d.Inputs, d.Output, func(v, from, to int) { parts[v][from] = o.grads[d.Output][to] })
		for _, v := range d.Inputs {
			o.add(v, parts[v])
		}
	case model.GatePart:
		g := o.grads[d.Output]
		times := func(by []float64) (x []float64) {
			for i := range g {
				x = append(x, float64(float32(g[i]*by[i])))
			}
			return x
		}
		o.add(d.X, times(o.values[d.Y]))
		o.add(d.Y, times(o.values[d.X]))
		o.add(d.Z, g)
	case model.InteractionPart:
		in, g := make([]float64, len(o.values[d.Input])), o.grads[d.Output]
		o.pairs(d, func(pair, a, b int) {
			in[a] += g[pair] * o.values[d.Input][b]
			in[b] += g[pair] * o.values[d.Input][a]
		})
		o.add(d.Input, in)
	}
}

func (o *oracle) backwardLayer(number int, d model.LayerPart) {
	g := o.grads[d.Output]
	for i, y := range o.values[d.Output] {
		if d.ReLU && y <= 0 {
			g[i] = 0
		}
	}
	if d.Norm {
		o.normalizeBackward(d, o.norms[number], g)
	}
	for i := range g {
		if d.Bias >= 0 {
			o.sums[d.Bias+i%d.Out] += g[i]
		}
	}
	o.weights(d, func(v int, visit func(each func(row, column, at int))) {
		in := make([]float64, len(o.grads[v]))
		visit(func(row, column, at int) {
			for i := range o.samples {
				from := i*o.Widths[v] + column
				o.sums[at] += rounded(g[i*d.Out+row]) * rounded(o.values[v][from])
				in[from] += rounded(g[i*d.Out+row]) * rounded(float64(o.params[at]))
			}
		})
		o.add(v, in)
	})
}

func (o *oracle) normalizeBackward(d model.LayerPart, n norm, g []float64) {
	for j := range d.Out {
		sum, dot := 0.0, 0.0
		for i := j; i < len(g); i += d.Out {
			sum += g[i]
			dot += g[i] * n.normalized[i]
		}
		o.sums[d.Beta+j], o.sums[d.Gamma+j] = sum, dot
		for i := j; i < len(g); i += d.Out {
			centred := g[i] - sum/float64(o.samples) - n.normalized[i]*dot/float64(o.samples)
			g[i] = o.kept(d.Output, float64(o.params[d.Gamma+j])*n.inverse[j]*centred)
		}
	}
}

// understood reports whether an oracle can compute a network: the parts of a factorization machine stay fp32.
func understood(p *model.Program) bool {
	return !slices.ContainsFunc(p.Parts, func(part model.ProgramPart) bool {
		switch part.(type) {
		case model.LayerPart, model.JoinPart, model.GatePart, model.InteractionPart:
			return false
		}
		return true
	})
}
