package model

import (
	"fmt"
	"math"

	"tandem/algo/numeric/kernel/nn"
	"tandem/algo/numeric/kernel/vec"
)

// Batch norm's constants, the defaults of PyTorch's BatchNorm1d.
const (
	normEpsilon  = 1e-5
	normMomentum = 0.1
)

// layer is a linear layer with the batch norm and the activation behind it:
//
//	out = relu(norm(x·Wᵀ + b)),   W is out×in
//
// X is its inputs side by side. Each is multiplied by its own columns of W, so that
// they need not be copied into one matrix. The numbers from weight on are offsets
// into the parameter vector and the statistics.
type layer struct {
	layerSpec
	inputs      []value
	widths      []int // of the inputs; together in
	output      value
	weight      int // W
	bias        int // b, unless noBias
	gamma, beta int // of batch norm, if norm
	running     int // mean, then variance, in the running statistics, if norm
}

// layerSpec is what a layer is, but for its place in a network.
type layerSpec struct {
	name       string
	in, out    int
	norm, relu bool
	noBias     bool
}

// addLayer adds a layer over inputs side by side, whose width becomes s.in. Where
// the output is wider, adding to it takes longer than joining the inputs.
func (n *network) addLayer(s layerSpec, inputs ...value) (output value) {
	s.in = n.width(inputs)
	if s.out > s.in {
		inputs = []value{n.joined(inputs)}
	}
	l := &n.layout
	d := &layer{layerSpec: s, inputs: inputs, output: n.newValue(s.out)}
	for _, v := range inputs {
		d.widths = append(d.widths, n.widths[v])
	}
	lo := l.Params
	d.weight = l.addTensor(s.name+".weight", s.out, s.in)
	if !s.noBias {
		d.bias = l.addTensor(s.name+".bias", s.out)
	}
	if s.norm {
		d.gamma = l.addTensor(s.name+".norm.weight", s.out)
		d.beta = l.addTensor(s.name+".norm.bias", s.out)
		d.running = l.Running
		l.Running += 2 * s.out
		l.Variances = append(l.Variances, Bucket{Lo: d.running + s.out, Hi: l.Running})
		n.norms = append(n.norms, d)
	}
	n.add(d, lo)
	return d.output
}

// addStack adds hidden layers one behind the other over inputs side by side.
// Without widths the stack passes these on.
func (n *network) addStack(name string, widths []int, norm, relu bool, inputs ...value) (output value) {
	for i, width := range widths {
		layer := layerSpec{name: fmt.Sprintf("%s.%d", name, i), out: width, norm: norm, relu: relu}
		inputs = []value{n.addLayer(layer, inputs...)}
	}
	return n.joined(inputs)
}

// initialize draws weight and bias uniform in ±1/√in and sets gamma 1, beta 0,
// running mean 0, running variance 1.
//
// Source: the defaults of PyTorch's Linear and BatchNorm1d.
func (d *layer) initialize(params, running []float32, seed uint64) {
	bound := float32(1 / math.Sqrt(float64(d.in)))
	uniform(params[d.weight:d.weight+d.in*d.out], bound, seed, d.name+".weight")
	if !d.noBias {
		uniform(params[d.bias:d.bias+d.out], bound, seed, d.name+".bias")
	}
	if !d.norm {
		return
	}
	for j := range d.out {
		params[d.gamma+j] = 1
		running[d.running+d.out+j] = 1
	}
}

// cost counts the product with its bias, the norm and the activation as one
// kernel each, and the operations of the product alone. Several inputs are counted
// as joined, since on other devices they would be.
func (d *layer) cost() (flops float64, values, kernels int) {
	flops, values, kernels = 2*float64(d.in)*float64(d.out), d.in+d.out, 1
	if len(d.inputs) > 1 {
		values, kernels = values+2*d.in, kernels+1
	}
	if d.norm {
		values, kernels = values+2*d.out, kernels+1
	}
	if d.relu {
		values, kernels = values+2*d.out, kernels+1
	}
	return flops, values, kernels
}

func (d *layer) newPass(samplesMax int) partPass {
	p := &layerPass{layer: d}
	if d.norm {
		p.normalized = make([]float32, samplesMax*d.out)
		p.inverse = make([]float32, d.out)
	}
	return p
}

// layerPass is what a pass keeps of one layer between forward and backward.
type layerPass struct {
	*layer
	normalized []float32 // before gamma and beta, if norm
	inverse    []float32 // 1/√(variance + epsilon), if norm
}

// forward also writes, in training, the group's batch-norm statistics.
func (d *layerPass) forward(p *pass) {
	samples, out := p.samples, p.value(d.output)
	d.eachInput(func(x value, width, first int) {
		p.net.products.Gemm(false, true, samples, d.out, width, p.value(x), width, p.params[d.weight+first:],
			d.in,
			unless(first == 0), out, d.out)
	})
	switch {
	case d.noBias:
	case d.relu && !d.norm:
		nn.AddBiasReLU(out, samples, d.out, p.params[d.bias:])
		return
	default:
		vec.AddBias(out, samples, d.out, p.params[d.bias:])
	}
	if d.norm {
		gamma, beta := p.params[d.gamma:][:d.out], p.params[d.beta:][:d.out]
		if p.train {
			stats := p.stats[1+d.running:] // behind the sample count
			nn.BatchNormTrain(out, d.normalized, out, samples, d.out, gamma, beta, normEpsilon,
				stats[:d.out], stats[d.out:2*d.out], d.inverse)
		} else {
			mean, variance := p.running[d.running:][:d.out], p.running[d.running+d.out:][:d.out]
			nn.BatchNormEval(out, out, samples, d.out, gamma, beta, normEpsilon, mean, variance)
		}
	}
	if d.relu {
		nn.ReLU(out)
	}
}

// backward turns the gradient of the output into that of the product, in place.
func (d *layerPass) backward(p *pass, paramGrad []float32) {
	samples, grad := p.samples, p.grad(d.output)
	if d.relu && !d.norm && !d.noBias {
		nn.AddBiasReLUBackward(paramGrad[d.bias:], grad, p.value(d.output), samples, d.out)
	} else {
		d.backwardInTurn(p, grad, paramGrad)
	}
	d.eachInput(func(x value, width, first int) {
		p.net.products.Gemm(true, false, d.out, width, samples, grad, d.out, p.value(x), width, 0,
			paramGrad[d.weight+first:], d.in)
		if inputGrad, fresh := p.flow(x); inputGrad != nil {
			p.net.products.Gemm(false, false, samples, width, d.out, grad, d.out, p.params[d.weight+first:],
				d.in,
				unless(fresh), inputGrad, width)
		}
	})
}

// eachInput visits the inputs that have columns, with their number and the first
// in x, which is 0 for the first input.
func (d *layerPass) eachInput(visit func(x value, width, first int)) {
	first := 0
	for i, x := range d.inputs {
		if width := d.widths[i]; width > 0 {
			visit(x, width, first)
			first += width
		}
	}
}

// unless is the beta of a product that adds to what is there, unless it is the
// first.
func unless(first bool) (beta float32) {
	if first {
		return 0
	}
	return 1
}

// backwardInTurn takes the gradient back through activation, norm and bias.
func (d *layerPass) backwardInTurn(p *pass, grad, paramGrad []float32) {
	if d.relu {
		nn.ReLUBackward(grad, p.value(d.output))
	}
	if d.norm {
		nn.BatchNormBackward(grad, d.normalized, p.samples, d.out, p.params[d.gamma:][:d.out],
			d.inverse, paramGrad[d.gamma:][:d.out], paramGrad[d.beta:][:d.out])
	}
	if !d.noBias {
		vec.ColumnSums(paramGrad[d.bias:][:d.out], grad, p.samples, d.out)
	}
}
