package model

import "tandem/algo/kernel"

// feedForwardPass is the scratch of one group. Gradients flow through the
// inputGrad of each layer, which is the grad of the one before.
type feedForwardPass struct {
	turn
	net           *feedForward
	samples       int // of the group in hand
	samplesMax    int
	layers        []layerScratch
	joint         []float32 // inputs of the first layer after the join
	jointGrad     []float32
	embeddingGrad []float32
	stats         []float32
}

func (f *feedForward) NewPass(maxSamples int) Pass {
	joint := f.layers[f.dense].in
	p := &feedForwardPass{
		turn:          turn{buckets: len(f.layers), next: unready},
		net:           f,
		samplesMax:    maxSamples,
		layers:        make([]layerScratch, len(f.layers)),
		joint:         make([]float32, maxSamples*joint),
		jointGrad:     make([]float32, maxSamples*joint),
		embeddingGrad: make([]float32, maxSamples*f.layout.EmbeddingWidth),
		stats:         make([]float32, f.layout.Stats),
	}
	for i := range f.layers {
		p.layers[i] = newLayerScratch(&f.layers[i], maxSamples)
		switch i {
		case f.dense:
			p.layers[i].inputGrad = p.jointGrad
		case 0: // the sparse tower's first layer, or the dense tower's
			if f.sparse > 0 {
				p.layers[i].inputGrad = p.embeddingGrad
			}
		case f.sparse: // numeric features want no gradient
		default:
			p.layers[i].inputGrad = p.layers[i-1].grad
		}
	}
	return p
}

func (p *feedForwardPass) Forward(params, running []float32, in Input, train bool) (logits []float32, lossSum float64) {
	f := p.net
	checkCall(&f.layout, p.samplesMax, params, running, in)
	p.samples = in.Samples
	p.begin(in, train)
	if train && len(p.stats) > 0 {
		p.stats[0] = float32(in.Samples)
	}
	sparse := p.run(0, f.sparse, params, running, in.Embeddings, train)
	dense := p.run(f.sparse, f.dense, params, running, in.Dense, train)
	width := f.layers[f.dense].in
	joint := p.joint[:p.samples*width]
	kernel.CopyColumns(joint, width, 0, sparse, f.sparseWidth, 0, p.samples, f.sparseWidth)
	denseWidth := width - f.sparseWidth
	kernel.CopyColumns(joint, width, f.sparseWidth, dense, denseWidth, 0, p.samples, denseWidth)
	logits = p.run(f.dense, len(f.layers), params, running, joint, train)
	if in.Labels != nil {
		last := &p.layers[len(p.layers)-1]
		lossSum = kernel.CrossEntropy(last.grad[:p.samples], logits, in.Labels)
	}
	return logits, lossSum
}

// run passes x through the layers [lo, hi), none of which may leave it as it is.
func (p *feedForwardPass) run(lo, hi int, params, running, x []float32, train bool) []float32 {
	var stats []float32
	if len(p.stats) > 0 {
		stats = p.stats[1:]
	}
	for i := lo; i < hi; i++ {
		x = p.net.layers[i].forward(&p.layers[i], params, running, stats, x, p.samples, train)
	}
	return x
}

func (p *feedForwardPass) Stats() []float32 { return p.stats }

func (p *feedForwardPass) Backward(params []float32, bucket int, grad []float32) {
	checkLen("params", len(params), p.net.layout.Params)
	checkLen("grad", len(grad), p.net.layout.Params)
	p.take(bucket)
	i := len(p.layers) - 1 - bucket
	p.net.layers[i].backward(&p.layers[i], params, grad, p.samples)
	if i == p.net.dense {
		p.splitJoint()
	}
}

// splitJoint hands the gradient of the joint inputs to the towers, or to the
// embeddings if they have none. Numeric features want no gradient.
func (p *feedForwardPass) splitJoint() {
	f := p.net
	width := f.layers[f.dense].in
	sparseGrad := p.embeddingGrad
	if f.sparse > 0 {
		sparseGrad = p.layers[f.sparse-1].grad
	}
	kernel.CopyColumns(sparseGrad, f.sparseWidth, 0, p.jointGrad, width, 0, p.samples, f.sparseWidth)
	if f.dense > f.sparse {
		denseWidth := width - f.sparseWidth
		kernel.CopyColumns(p.layers[f.dense-1].grad, denseWidth, 0, p.jointGrad, width, f.sparseWidth, p.samples, denseWidth)
	}
}

func (p *feedForwardPass) EmbeddingGrad() []float32 {
	p.end()
	return p.embeddingGrad[:p.samples*p.net.layout.EmbeddingWidth]
}
