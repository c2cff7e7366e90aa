package model

// linear is the part of a logit that is linear in the features: the first value
// e_i of the pooled row of every slot i, and the numeric features x_j with the
// weights w_j,
//
//	out = b + Σ_i e_i + Σ_j w_j·x_j
//
// Everything starts at 0, this part being convex; so may the rows.
type linear struct {
	dim    int // length of a slot's row
	slots  int
	width  int // numeric features
	weight int // w
	bias   int // b
	output value
}

// addLinear adds the linear part over rows of dim values.
func (n *network) addLinear(dim int) (output value) {
	l := &n.layout
	lo := l.Params
	f := &linear{dim: dim, slots: l.EmbeddingWidth / dim, width: l.DenseWidth, output: n.newValue(1)}
	f.weight = l.addTensor("linear", f.width)
	f.bias = l.addTensor("bias", 1)
	n.add(f, lo)
	return f.output
}

func (f *linear) initialize(_, _ []float32, _ uint64) {}

func (f *linear) cost() (flops float64, values, kernels int) {
	return float64(f.slots + 2*f.width), f.slots + f.width + 1, 1
}

func (f *linear) newPass(int) partPass { return f }

func (f *linear) forward(p *pass) {
	rows, x := p.value(embeddings), p.value(numeric)
	weight := p.params[f.weight:][:f.width]
	out := p.value(f.output)
	for i := range out {
		logit := float64(p.params[f.bias])
		for slot := range f.slots {
			logit += float64(rows[(i*f.slots+slot)*f.dim])
		}
		for j, v := range x[i*f.width:][:f.width] {
			logit += float64(weight[j]) * float64(v) // exact before the addition, fused or not
		}
		out[i] = float32(logit)
	}
}

func (f *linear) backward(p *pass, paramGrad []float32) {
	x, rowGrad := p.value(numeric), p.grad(embeddings)
	weightGrad := paramGrad[f.weight:][:f.width]
	clear(weightGrad)
	paramGrad[f.bias] = 0
	for i, g := range p.grad(f.output) {
		paramGrad[f.bias] += g
		for j, v := range x[i*f.width:][:f.width] {
			weightGrad[j] += float32(g * v)
		}
		for slot := range f.slots {
			rowGrad[(i*f.slots+slot)*f.dim] += g
		}
	}
}
