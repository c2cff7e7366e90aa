package model

// pass is the scratch of one group. Every value but the numeric features has a
// gradient, to which every part that takes the value adds, so that several parts
// may share an input: the first to come overwrites what an earlier group left.
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
	ownGrad    []float32   // of the embeddings, where the input has no place for it
	begun      []bool      // the gradient is of the group in hand
	loss       Loss
}

func (n *network) NewPass(maxSamples int) Pass {
	p := &pass{
		turn:       turn{buckets: len(n.layout.Buckets), next: unready},
		net:        n,
		loss:       *n.loss,
		samplesMax: maxSamples,
		stats:      make([]float32, n.layout.Stats),
		values:     make([][]float32, len(n.widths)),
		grads:      make([][]float32, len(n.widths)),
		begun:      make([]bool, len(n.widths)),
	}
	for v, width := range n.widths {
		if value(v) > numeric {
			p.values[v] = make([]float32, maxSamples*width)
		}
		if value(v) != numeric && value(v) != embeddings {
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
	p.placeGrad(in)
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
	clear(p.begun)
	return logits, p.loss.Sum(p.grad(p.net.output), logits, in)
}

// placeGrad provides memory for the gradient of the embeddings, if the pass is one of training.
func (p *pass) placeGrad(in Input) {
	p.grads[embeddings] = in.EmbeddingGrad
	if in.EmbeddingGrad != nil || in.Labels == nil {
		return
	}
	if p.ownGrad == nil {
		p.ownGrad = make([]float32, p.samplesMax*p.net.widths[embeddings])
	}
	p.grads[embeddings] = p.ownGrad
}

// value returns the group's part of a value: samples × width.
func (p *pass) value(v value) []float32 { return p.values[v][:p.samples*p.net.widths[v]] }

// grad returns the gradient of the loss sum with respect to a value, or nil if no part needs it.
func (p *pass) grad(v value) []float32 {
	if v == numeric {
		return nil
	}
	return p.grads[v][:p.samples*p.net.widths[v]]
}

// flow returns the gradient of a value for a part to add to, or nil if no part needs it. If fresh is true the
// part is the first and must overwrite the contents.
func (p *pass) flow(v value) (grad []float32, fresh bool) {
	fresh = !p.begun[v]
	p.begun[v] = true
	return p.grad(v), fresh
}

// cleared is flow for a part that writes only some elements or adds in any case:
// the first gets zeros.
func (p *pass) cleared(v value) []float32 {
	grad, fresh := p.flow(v)
	if fresh {
		clear(grad)
	}
	return grad
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
	return p.cleared(embeddings)
}
