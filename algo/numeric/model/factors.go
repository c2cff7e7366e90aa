package model

import "tandem/algo/numeric/kernel/vec"

// factorDeviation is the standard deviation of fresh factor vectors of numeric
// features: small, so that training starts near logistic regression, but not 0,
// where all factors would stay equal.
const factorDeviation = 0.01

// factors gives every field its factor vector: to a slot the values of its pooled
// row behind the first, to a numeric feature x_j the vector u_j·x_j, where u is a
// parameter. The output is fields × dim, slots first.
type factors struct {
	dim     int // of a factor vector; a slot's row has one value more
	slots   int
	width   int // numeric features
	vectors int // u, width × dim
	output  value
}

// addFactors adds the factor vectors of dim values of all fields.
func (n *network) addFactors(dim int) (output value) {
	l := &n.layout
	lo := l.Params
	f := &factors{dim: dim, slots: l.EmbeddingWidth / (dim + 1), width: l.DenseWidth}
	f.vectors = l.addTensor("factors", f.width, dim)
	f.output = n.newValue((f.slots + f.width) * dim)
	n.add(f, lo)
	return f.output
}

func (f *factors) initialize(params, _ []float32, seed uint64) {
	bell(params[f.vectors:][:f.width*f.dim], factorDeviation, seed, "factors")
}

func (f *factors) cost() (flops float64, values, kernels int) {
	return float64(f.width * f.dim), f.slots*f.dim + f.width + (f.slots+f.width)*f.dim, 1
}

func (f *factors) newPass(int) partPass { return f }

func (f *factors) forward(p *pass) {
	rows, x, out := p.value(embeddings), p.value(numeric), p.value(f.output)
	for i := range p.samples {
		for slot := range f.slots {
			copy(out[:f.dim], rows[(i*f.slots+slot)*(f.dim+1)+1:])
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
		for slot := range f.slots {
			vec.Add(rowGrad[(i*f.slots+slot)*(f.dim+1)+1:][:f.dim], grad[:f.dim])
			grad = grad[f.dim:]
		}
		for j, v := range x[i*f.width:][:f.width] {
			vec.Axpy(paramGrad[f.vectors+j*f.dim:][:f.dim], v, grad[:f.dim])
			grad = grad[f.dim:]
		}
	}
}
