package model

import (
	"fmt"
	"math"

	"tandem/algo/kernel"
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
// The numbers from weight on are offsets into the parameter vector and the
// statistics.
type layer struct {
	layerSpec
	inputs      []value // side by side they are x
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

// addLayer adds a layer over input, whose width becomes s.in.
func (n *network) addLayer(input value, s layerSpec) (output value) {
	s.in = n.widths[input]
	l := &n.layout
	d := &layer{layerSpec: s, inputs: n.apart[input], output: n.newValue(s.out)}
	if d.inputs == nil {
		d.inputs = []value{input}
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
		n.norms = append(n.norms, d)
	}
	n.add(d, lo)
	return d.output
}

// addStack adds hidden layers one behind the other. Without widths the stack
// passes its input on.
func (n *network) addStack(name string, input value, widths []int, norm, relu bool) (output value) {
	for i, width := range widths {
		input = n.addLayer(input, layerSpec{name: fmt.Sprintf("%s.%d", name, i), out: width, norm: norm, relu: relu})
	}
	return input
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
// kernel each, and the operations of the product alone.
func (d *layer) cost() (flops float64, values, kernels int) {
	flops, values, kernels = 2*float64(d.in)*float64(d.out), d.in+d.out, 1
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
	d.eachInput(p, func(x value, width, first int) {
		beta := float32(1)
		if first == 0 {
			beta = 0
		}
		p.net.products.Gemm(false, true, samples, d.out, width, p.value(x), width, p.params[d.weight+first:], d.in, beta, out, d.out)
	})
	switch {
	case d.noBias:
	case d.relu && !d.norm:
		kernel.AddBiasReLU(out, samples, d.out, p.params[d.bias:])
		return
	default:
		kernel.AddBias(out, samples, d.out, p.params[d.bias:])
	}
	if d.norm {
		gamma, beta := p.params[d.gamma:][:d.out], p.params[d.beta:][:d.out]
		if p.train {
			stats := p.stats[1+d.running:] // behind the sample count
			kernel.BatchNormTrain(out, d.normalized, out, samples, d.out, gamma, beta, normEpsilon,
				stats[:d.out], stats[d.out:2*d.out], d.inverse)
		} else {
			mean, variance := p.running[d.running:][:d.out], p.running[d.running+d.out:][:d.out]
			kernel.BatchNormEval(out, out, samples, d.out, gamma, beta, normEpsilon, mean, variance)
		}
	}
	if d.relu {
		kernel.ReLU(out)
	}
}

// backward turns the gradient of the output into that of the product, in place.
func (d *layerPass) backward(p *pass, paramGrad []float32) {
	samples, grad := p.samples, p.grad(d.output)
	if d.relu && !d.norm && !d.noBias {
		kernel.AddBiasReLUBackward(paramGrad[d.bias:], grad, p.value(d.output), samples, d.out)
	} else {
		d.backwardInTurn(p, grad, paramGrad)
	}
	d.eachInput(p, func(x value, width, first int) {
		p.net.products.Gemm(true, false, d.out, width, samples, grad, d.out, p.value(x), width, 0, paramGrad[d.weight+first:], d.in)
		if inputGrad, fresh := p.flow(x); inputGrad != nil {
			beta := float32(1)
			if fresh {
				beta = 0
			}
			p.net.products.Gemm(false, false, samples, width, d.out, grad, d.out, p.params[d.weight+first:], d.in, beta, inputGrad, width)
		}
	})
}

// eachInput visits the parts of x that have columns, whose first is given; the
// first part's is 0.
func (d *layerPass) eachInput(p *pass, visit func(x value, width, first int)) {
	first := 0
	for _, x := range d.inputs {
		if width := p.net.widths[x]; width > 0 {
			visit(x, width, first)
			first += width
		}
	}
}

// backwardInTurn takes the gradient back through activation, norm and bias.
func (d *layerPass) backwardInTurn(p *pass, grad, paramGrad []float32) {
	if d.relu {
		kernel.ReLUBackward(grad, p.value(d.output))
	}
	if d.norm {
		kernel.BatchNormBackward(grad, d.normalized, p.samples, d.out, p.params[d.gamma:][:d.out],
			d.inverse, paramGrad[d.gamma:][:d.out], paramGrad[d.beta:][:d.out])
	}
	if !d.noBias {
		kernel.ColumnSums(paramGrad[d.bias:][:d.out], grad, p.samples, d.out)
	}
}
