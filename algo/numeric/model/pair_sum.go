package model

import "tandem/algo/numeric/kernel/nn"

// pairSum is the sum of the products of all pairs of factor vectors v_i, which
// nn.PairSum computes in time linear in their number.
type pairSum struct {
	dim    int // of a vector
	width  int // vectors × dim
	input  value
	output value
}

// addPairSum adds the pair sum of the vectors of dim values in input.
func (n *network) addPairSum(input value, dim int) (output value) {
	s := &pairSum{dim: dim, width: n.widths[input], input: input, output: n.newValue(1)}
	n.add(s, n.layout.Params)
	return s.output
}

func (s *pairSum) initialize(_, _ []float32, _ uint64) {}

// cost counts for a value an addition to its factor's sum, a square and its
// subtraction, and for a factor the square of its sum and its addition.
func (s *pairSum) cost() (flops float64, values, kernels int) {
	return float64(3*s.width + 2*s.dim), s.width + s.dim + 1, 1
}

func (s *pairSum) newPass(samplesMax int) partPass {
	return &pairSumPass{pairSum: s, sums: make([]float64, samplesMax*s.dim), squares: make([]float64, s.dim)}
}

type pairSumPass struct {
	*pairSum
	sums    []float64 // Σ_i v_if of every sample
	squares []float64
}

func (s *pairSumPass) forward(p *pass) {
	vectors, out := p.value(s.input), p.value(s.output)
	for i := range out {
		out[i] = float32(nn.PairSum(s.sums[i*s.dim:][:s.dim], s.squares, vectors[i*s.width:][:s.width]))
	}
}

// backward uses ∂out/∂v_if = Σ_j v_jf − v_if.
func (s *pairSumPass) backward(p *pass, _ []float32) {
	vectors, vectorGrad := p.value(s.input), p.cleared(s.input)
	for i, g := range p.grad(s.output) {
		nn.PairSumBackward(vectorGrad[i*s.width:][:s.width], vectors[i*s.width:][:s.width],
			s.sums[i*s.dim:][:s.dim], g)
	}
}
