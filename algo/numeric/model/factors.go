package model

import (
	"slices"

	"tandem/algo/numeric/kernel/vec"
)

// factorDeviation is the standard deviation of fresh factor vectors of numeric
// features: small, so that training starts near logistic regression, but not 0,
// where all factors would stay equal.
const factorDeviation = 0.01

// factors gives every field its factor vector: to a slot the values of its pooled
// row behind the first, to a numeric feature x_j the vector u_j·x_j, where u is a
// parameter. The output is fields × dim, slots first. Slots that are wide are no fields.
type factors struct {
	dim     int   // of a factor vector; a slot's row has one value more
	rows    []int // where the rows of the fields begin among the embeddings of a sample
	stride  int   // embeddings of a sample
	width   int   // numeric features
	vectors int   // u, width × dim
	output  value
}

// addFactors adds the factor vectors of dim values of all fields. wide has the numbers of the slots that are
// none.
func (n *network) addFactors(dim int, wide []int) (output value) {
	l := &n.layout
	lo := l.Params
	f := &factors{dim: dim, stride: l.EmbeddingWidth, width: l.DenseWidth}
	for slot, row := range n.rows {
		if !slices.Contains(wide, slot) {
			f.rows = append(f.rows, row)
		}
	}
	f.vectors = l.addTensor("factors", f.width, dim)
	f.output = n.newValue((len(f.rows) + f.width) * dim)
	n.add(f, lo)
	return f.output
}

func (f *factors) initialize(params, _ []float32, seed uint64) {
	bell(params[f.vectors:][:f.width*f.dim], factorDeviation, seed, "factors")
}

func (f *factors) cost() (flops float64, values, kernels int) {
	return float64(f.width * f.dim), len(f.rows)*f.dim + f.width + (len(f.rows)+f.width)*f.dim, 1
}

func (f *factors) newPass(int) partPass { return f }

func (f *factors) forward(p *pass) {
	rows, x, out := p.value(embeddings), p.value(numeric), p.value(f.output)
	for i := range p.samples {
		for _, row := range f.rows {
			copy(out[:f.dim], rows[i*f.stride+row+1:])
			out = out[f.dim:]
		}
		for j, v := range x[i*f.width:][:f.width] {
			for k, u := range p.params[f.vectors+j*f.dim:][:f.dim] {
				out[k] = u * v
			}
			out = out[f.dim:]
		}
	}
}

func (f *factors) backward(p *pass, paramGrad []float32) {
	x, rowGrad, grad := p.value(numeric), p.cleared(embeddings), p.grad(f.output)
	clear(paramGrad[f.vectors:][:f.width*f.dim])
	for i := range p.samples {
		for _, row := range f.rows {
			vec.Add(rowGrad[i*f.stride+row+1:][:f.dim], grad[:f.dim])
			grad = grad[f.dim:]
		}
		for j, v := range x[i*f.width:][:f.width] {
			vec.Axpy(paramGrad[f.vectors+j*f.dim:][:f.dim], v, grad[:f.dim])
			grad = grad[f.dim:]
		}
	}
}
