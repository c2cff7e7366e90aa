package model

import "tandem/algo/numeric/kernel/gemm"

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

func (t *interaction) newPass(int) partPass {
	return &interactionPass{t, gemm.NewInteraction(t.count, t.dim)}
}

type interactionPass struct {
	*interaction
	pairwise *gemm.Interaction
}

func (t *interactionPass) forward(p *pass) {
	vectors, out := p.value(t.input), p.value(t.output)
	width, pairs := t.count*t.dim, t.pairs()
	for i := range p.samples {
		t.pairwise.Forward(out[i*pairs:][:pairs], vectors[i*width:][:width])
	}
}

func (t *interactionPass) backward(p *pass, _ []float32) {
	vectors, grad := p.value(t.input), p.grad(t.output)
	vectorGrad, fresh := p.flow(t.input)
	width, pairs := t.count*t.dim, t.pairs()
	for i := range p.samples {
		t.pairwise.Backward(vectorGrad[i*width:][:width], vectors[i*width:][:width], grad[i*pairs:][:pairs],
			fresh)
	}
}
