package model

import "tandem/algo/kernel"

// pass is the scratch of one group. Every value but the numeric features has a
// gradient, which is 0 after Forward and to which every part that takes the
// value adds: so several parts may share an input.
type pass struct {
	turn
	net        *network
	parts      []partPass
	samplesMax int
	samples    int // of the group in hand
	train      bool
	params     []float32
	running    []float32
	stats      []float32
	values     [][]float32 // those of the data alias the input
	grads      [][]float32 // nil for numeric
}

func (n *network) NewPass(maxSamples int) Pass {
	p := &pass{
		turn:       turn{buckets: len(n.layout.Buckets), next: unready},
		net:        n,
		samplesMax: maxSamples,
		stats:      make([]float32, n.layout.Stats),
		values:     make([][]float32, len(n.widths)),
		grads:      make([][]float32, len(n.widths)),
	}
	for v, width := range n.widths {
		if value(v) > numeric {
			p.values[v] = make([]float32, maxSamples*width)
		}
		if value(v) != numeric {
			p.grads[v] = make([]float32, maxSamples*width)
		}
	}
	for _, part := range n.parts {
		p.parts = append(p.parts, part.newPass(maxSamples))
	}
	return p
}

func (p *pass) Forward(params, running []float32, in Input, train bool) (logits []float32, lossSum float64) {
	checkCall(&p.net.layout, p.samplesMax, params, running, in)
	p.begin(in, train)
	p.samples, p.train, p.params, p.running = in.Samples, train, params, running
	p.values[embeddings], p.values[numeric] = in.Embeddings, in.Dense
	if train && len(p.stats) > 0 {
		p.stats[0] = float32(in.Samples)
	}
	for _, part := range p.parts {
		part.forward(p)
	}
	logits = p.value(p.net.output)
	if in.Labels == nil {
		return logits, 0
	}
	if train {
		for v := range p.grads {
			clear(p.grad(value(v)))
		}
	}
	return logits, kernel.CrossEntropy(p.grad(p.net.output), logits, in.Labels, p.net.weights)
}

// value returns the group's part of a value: samples × width.
func (p *pass) value(v value) []float32 { return p.values[v][:p.samples*p.net.widths[v]] }

// grad returns the gradient of the loss sum with respect to a value, nil if
// nobody wants it.
func (p *pass) grad(v value) []float32 {
	if v == numeric {
		return nil
	}
	return p.grads[v][:p.samples*p.net.widths[v]]
}

func (p *pass) Stats() []float32 { return p.stats }

func (p *pass) Backward(params []float32, bucket int, grad []float32) {
	checkLen("params", len(params), p.net.layout.Params)
	checkLen("grad", len(grad), p.net.layout.Params)
	p.take(bucket)
	p.params = params
	first := len(p.parts) - 1
	if bucket > 0 {
		first = p.net.ends[bucket-1] - 1
	}
	for i := first; i >= p.net.ends[bucket]; i-- {
		p.parts[i].backward(p, grad)
	}
}

func (p *pass) EmbeddingGrad() []float32 {
	p.end()
	return p.grad(embeddings)
}
