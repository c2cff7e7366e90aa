package model

// linear is the part of a logit that is linear in the features: for head h value
// h of every row e_i that the data hold of a sample, pooled or, of a raw slot, one
// for each id that is kept, and the numeric features x_j with weights w_hj,
//
//	out_h = b_h + Σ_i e_ih + Σ_j w_hj·x_j
//
// The masks of a raw slot are no features: padding is a row of zeros.
//
// Everything starts at 0, this part being convex, but for the biases of heads (Head.Bias); so may the rows.
type linear struct {
	rows   []int // where the rows of a sample begin among its embeddings
	stride int   // embeddings of a sample
	heads  int   // at most the length of a row
	width  int   // numeric features
	weight int   // w, heads × width
	bias   int   // b
	output value
}

// addLinear adds the linear part of some heads.
func (n *network) addLinear(heads int) (output value) {
	l := &n.layout
	lo := l.Params
	f := &linear{
		rows: n.rows, stride: l.EmbeddingWidth, heads: heads, width: l.DenseWidth, output: n.newValue(heads),
	}
	f.weight = l.addTensor("linear", heads, f.width)
	f.bias = l.addTensor("bias", heads)
	for h := range heads {
		n.outputs = append(n.outputs, f.bias+h)
	}
	n.add(f, lo)
	return f.output
}

func (f *linear) initialize(_, _ []float32, _ uint64) {}

func (f *linear) cost() (flops float64, values, kernels int) {
	return float64(f.heads * (len(f.rows) + 2*f.width)), f.heads*len(f.rows) + f.width + f.heads, 1
}

func (f *linear) newPass(int) partPass { return f }

func (f *linear) forward(p *pass) {
	rows, x, out := p.value(embeddings), p.value(numeric), p.value(f.output)
	for at := range out {
		i, h := at/f.heads, at%f.heads
		logit := float64(p.params[f.bias+h])
		for _, row := range f.rows {
			logit += float64(rows[i*f.stride+row+h])
		}
		weight := p.params[f.weight+h*f.width:][:f.width]
		for j, v := range x[i*f.width:][:f.width] {
			logit += float64(weight[j]) * float64(v) // exact before the addition, fused or not
		}
		out[at] = float32(logit)
	}
}

func (f *linear) backward(p *pass, paramGrad []float32) {
	x, rowGrad := p.value(numeric), p.cleared(embeddings)
	clear(paramGrad[f.weight:][:f.heads*f.width])
	clear(paramGrad[f.bias:][:f.heads])
	for at, g := range p.grad(f.output) {
		i, h := at/f.heads, at%f.heads
		paramGrad[f.bias+h] += g
		weightGrad := paramGrad[f.weight+h*f.width:][:f.width]
		for j, v := range x[i*f.width:][:f.width] {
			weightGrad[j] += float32(g * v)
		}
		for _, row := range f.rows {
			rowGrad[i*f.stride+row+h] += g
		}
	}
}
