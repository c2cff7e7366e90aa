package model

// pairSum is the sum of the products of all pairs of factor vectors v_i:
//
//	out = Σ_{i<j} ⟨v_i, v_j⟩ = ½·Σ_f [(Σ_i v_if)² − Σ_i v_if²]
//
// The bracket counts every pair of different fields twice, which is how the
// double sum over pairs becomes linear in the number of fields.
//
// Source: Rendle, Factorization Machines, ICDM 2010, equation 5.
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
	return &pairSumPass{pairSum: s, sums: make([]float64, samplesMax*s.dim)}
}

type pairSumPass struct {
	*pairSum
	sums []float64 // Σ_i v_if of every sample
}

// forward computes in float64, because near the start the difference in the
// bracket is small beside its terms.
func (s *pairSumPass) forward(p *pass) {
	vectors, out := p.value(s.input), p.value(s.output)
	for i := range out {
		sums, twice := s.sums[i*s.dim:][:s.dim], 0.0
		clear(sums)
		for row := vectors[i*s.width:][:s.width]; len(row) > 0; row = row[s.dim:] {
			for f, v := range row[:s.dim] {
				sums[f] += float64(v)
				twice -= float64(float64(v) * float64(v))
			}
		}
		for _, t := range sums {
			twice += float64(t * t)
		}
		out[i] = float32(twice / 2)
	}
}

// backward uses ∂out/∂v_if = Σ_j v_jf − v_if.
func (s *pairSumPass) backward(p *pass, _ []float32) {
	vectors, vectorGrad := p.value(s.input), p.grad(s.input)
	for i, g := range p.grad(s.output) {
		sums := s.sums[i*s.dim:][:s.dim]
		for at := i * s.width; at < (i+1)*s.width; at += s.dim {
			for f, t := range sums {
				vectorGrad[at+f] += float32(float64(g) * (t - float64(vectors[at+f])))
			}
		}
	}
}
