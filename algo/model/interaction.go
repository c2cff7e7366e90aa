package model

// interaction gives the dot products of all pairs of vectors v_0, v_1, …, the
// strictly lower triangle of their Gram matrix row by row:
//
//	out = ⟨v_1,v_0⟩, ⟨v_2,v_0⟩, ⟨v_2,v_1⟩, ⟨v_3,v_0⟩, …
//
// Source: Naumov and others, arXiv 1906.00091, section 2.1.3, in the order of
// the code that the paper published.
type interaction struct {
	stateless
	dim    int // of a vector
	count  int // of vectors
	input  value
	output value
}

// addInteraction adds the products of the vectors of dim values in input.
func (n *network) addInteraction(input value, dim int) (output value) {
	t := &interaction{dim: dim, count: n.widths[input] / dim, input: input}
	t.output = n.newValue(t.pairs())
	n.add(t, n.layout.Params)
	return t.output
}

// pairs returns the number of products of a sample.
func (t *interaction) pairs() int { return t.count * (t.count - 1) / 2 }

func (t *interaction) cost() (flops float64, values, kernels int) {
	return float64(2 * t.dim * t.pairs()), t.count*t.dim + t.pairs(), 1
}

func (t *interaction) newPass(int) partPass { return t }

// forward computes row r of the triangle as v_r times the vectors before it.
func (t *interaction) forward(p *pass) {
	all, out := p.value(t.input), p.value(t.output)
	for i := range p.samples {
		vectors := all[i*t.count*t.dim:][:t.count*t.dim]
		for r := 1; r < t.count; r++ {
			p.net.products.Gemm(false, true, 1, r, t.dim, vectors[r*t.dim:], t.dim, vectors, t.dim, 0, out, r)
			out = out[r:]
		}
	}
}

// backward uses that the product ⟨v_r, v_j⟩ gives v_j to the gradient of v_r and
// v_r to that of v_j.
func (t *interaction) backward(p *pass, _ []float32) {
	all, allGrad, grad := p.value(t.input), p.cleared(t.input), p.grad(t.output)
	for i := range p.samples {
		vectors, vectorGrad := all[i*t.count*t.dim:][:t.count*t.dim], allGrad[i*t.count*t.dim:][:t.count*t.dim]
		for r := 1; r < t.count; r++ {
			p.net.products.Gemm(false, false, 1, t.dim, r, grad, r, vectors, t.dim, 1, vectorGrad[r*t.dim:], t.dim)
			p.net.products.Gemm(true, false, r, t.dim, 1, grad, r, vectors[r*t.dim:], t.dim, 1, vectorGrad, t.dim)
			grad = grad[r:]
		}
	}
}
