package model

import (
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
// The numbers are offsets into the parameter vector and the statistics.
type layer struct {
	name        string
	in, out     int
	norm, relu  bool
	weight      int // W
	bias        int // b
	gamma, beta int // of batch norm, if norm
	lo, hi      int // all parameters of the layer
	running     int // mean, then variance, in the running statistics, if norm
}

// addLayer lays out the next layer of a network.
func (l *Layout) addLayer(name string, in, out int, norm, relu bool) layer {
	d := layer{name: name, in: in, out: out, norm: norm, relu: relu, lo: l.Params}
	d.weight = l.addTensor(name+".weight", out, in)
	d.bias = l.addTensor(name+".bias", out)
	if norm {
		d.gamma = l.addTensor(name+".norm.weight", out)
		d.beta = l.addTensor(name+".norm.bias", out)
		d.running = l.Running
		l.Running += 2 * out
	}
	d.hi = l.Params
	return d
}

// initialize writes fresh parameters and running statistics: weight and bias uniform
// in ±1/√in, gamma 1, beta 0, running mean 0, running variance 1.
//
// Source: the defaults of PyTorch's Linear and BatchNorm1d.
func (d *layer) initialize(params, running []float32, seed uint64) {
	bound := float32(1 / math.Sqrt(float64(d.in)))
	uniform(params[d.weight:d.weight+d.in*d.out], bound, seed, d.name+".weight")
	uniform(params[d.bias:d.bias+d.out], bound, seed, d.name+".bias")
	if !d.norm {
		return
	}
	for j := range d.out {
		params[d.gamma+j] = 1
		running[d.running+d.out+j] = 1
	}
}

// cost returns the work of the layer for one sample: floating-point operations
// of the product, values read and written, and device kernels, counting the
// product with its bias, the norm and the activation as one each.
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

// layerScratch is what a pass keeps of one layer between forward and backward.
type layerScratch struct {
	input      []float32 // of the layer, aliasing whatever it came from
	out        []float32
	normalized []float32 // before gamma and beta, if norm
	inverse    []float32 // 1/√(variance + epsilon), if norm
	grad       []float32 // of the loss with respect to out, overwritten by backward
	// inputGrad is where the gradient with respect to input goes; nil if nobody
	// wants it.
	inputGrad []float32
}

func newLayerScratch(d *layer, samplesMax int) layerScratch {
	s := layerScratch{
		out:  make([]float32, samplesMax*d.out),
		grad: make([]float32, samplesMax*d.out),
	}
	if d.norm {
		s.normalized = make([]float32, samplesMax*d.out)
		s.inverse = make([]float32, d.out)
	}
	return s
}

// forward fills s.out from input. In training, batch norm writes the group's
// statistics to stats, which is laid out as running.
func (d *layer) forward(s *layerScratch, params, running, stats, input []float32, samples int, train bool) (out []float32) {
	s.input = input
	out = s.out[:samples*d.out]
	kernel.Gemm(false, true, samples, d.out, d.in, 1, input, d.in, params[d.weight:], d.in, 0, out, d.out)
	kernel.AddBias(out, samples, d.out, params[d.bias:])
	if d.norm {
		gamma, beta := params[d.gamma:][:d.out], params[d.beta:][:d.out]
		if train {
			mean, variance := stats[d.running:][:d.out], stats[d.running+d.out:][:d.out]
			kernel.BatchNormTrain(out, s.normalized, out, samples, d.out, gamma, beta, normEpsilon, mean, variance, s.inverse)
		} else {
			mean, variance := running[d.running:][:d.out], running[d.running+d.out:][:d.out]
			kernel.BatchNormEval(out, out, samples, d.out, gamma, beta, normEpsilon, mean, variance)
		}
	}
	if d.relu {
		kernel.ReLU(out)
	}
	return out
}

// backward writes the layer's parameter gradients into paramGrad and, if it is
// wanted, the gradient with respect to its input, from s.grad.
func (d *layer) backward(s *layerScratch, params, paramGrad []float32, samples int) {
	grad := s.grad[:samples*d.out]
	if d.relu {
		kernel.ReLUBackward(grad, s.out[:samples*d.out])
	}
	if d.norm {
		kernel.BatchNormBackward(grad, s.normalized, samples, d.out, params[d.gamma:][:d.out],
			s.inverse, paramGrad[d.gamma:][:d.out], paramGrad[d.beta:][:d.out])
	}
	kernel.ColumnSums(paramGrad[d.bias:][:d.out], grad, samples, d.out)
	kernel.Gemm(true, false, d.out, d.in, samples, 1, grad, d.out, s.input, d.in, 0, paramGrad[d.weight:], d.in)
	if s.inputGrad != nil {
		kernel.Gemm(false, false, samples, d.in, d.out, 1, grad, d.out, params[d.weight:], d.in, 0, s.inputGrad, d.in)
	}
}
