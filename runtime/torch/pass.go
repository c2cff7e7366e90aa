package torch

import (
	"runtime"

	"tandem/algo/numeric/model"
)

// pass is a model.Pass in the process of a rank. After a failure it goes on without effect: see Engine.Err.
type pass struct {
	*engine
	worker *worker // nil if it could not be started
	number int
	loss   *model.Loss
	memory *area
	copied *area // parameters that are not in shared memory; nil: there were none

	samples  int       // of the current group
	views    views     // of the current group
	place    []float32 // where the gradients of the embeddings belong; nil: anywhere
	answered int       // buckets that are final
	done     bool      // those of the embeddings are final, too
}

// views are the parts of the memory of a pass, for one group of samples, in the order of Pass in worker.py.
type views struct {
	grads, running, stats, embeddings, embeddingGrads, numbers, labels, logits, logitGrads []float32
}

// floats returns the memory of a pass of up to some samples.
func floats(l *model.Layout, samples int) int {
	return l.Params + l.Running + 1 + l.Running + samples*(2*l.EmbeddingWidth+l.DenseWidth+3*l.Labels)
}

// cut returns the views of a group.
func cut(memory []float32, l *model.Layout, samples int) (v views) {
	for _, part := range []struct {
		view *[]float32
		size int
	}{
		{&v.grads, l.Params}, {&v.running, l.Running}, {&v.stats, 1 + l.Running},
		{&v.embeddings, samples * l.EmbeddingWidth}, {&v.embeddingGrads, samples * l.EmbeddingWidth},
		{&v.numbers, samples * l.DenseWidth}, {&v.labels, samples * l.Labels},
		{&v.logits, samples * l.Labels}, {&v.logitGrads, samples * l.Labels},
	} {
		*part.view, memory = memory[:part.size:part.size], memory[part.size:]
	}
	return v
}

// newPass returns a pass in the process of a rank.
func (e *engine) newPass(rank, samplesMax int) *pass {
	p := &pass{engine: e, loss: model.NewLoss(e.spec)}
	w, err := e.worker(rank)
	if err != nil {
		return p
	}
	if p.memory = p.borrow(floats(&e.layout, samplesMax)); p.memory == nil {
		return p
	}
	p.worker, p.number = w, w.newPass(len(e.layout.Buckets)+2)
	w.use(p.memory)
	return p
}

// borrow returns an area for as long as there is the pass, or nil if there is no memory.
func (p *pass) borrow(floats int) *area {
	a, err := p.take(floats)
	if err != nil {
		return nil
	}
	from := p.processes
	runtime.AddCleanup(p, func(a *area) { from.giveBack(a) }, a)
	return a
}

// Forward implements model.Pass. A module with a loss of its own has no logits in training: they are zeros.
func (p *pass) Forward(params, running []float32, in model.Input, train bool) (logits []float32,
	lossSum float64) {
	p.samples, p.answered, p.done = in.Samples, 0, false
	p.place = in.EmbeddingGrad
	train = train && in.Labels != nil
	zeros := func() ([]float32, float64) { return make([]float32, in.Samples*p.layout.Labels), 0 }
	if p.worker == nil {
		return zeros()
	}
	v := cut(p.memory.values, &p.layout, in.Samples)
	p.views = v
	if in.Samples == 0 {
		clear(v.stats)
		return zeros()
	}
	copy(v.embeddings, in.Embeddings)
	copy(v.numbers, in.Dense)
	copy(v.labels, in.Labels)
	copy(v.running, running)
	own := p.parameters(params)
	if own == nil {
		return zeros()
	}
	_, err := p.worker.call(request{Do: "forward", Pass: p.number, Area: p.memory.number,
		Params: own.number, Samples: in.Samples, Train: train, Random: train && p.Random})
	if err != nil {
		return zeros()
	}
	switch {
	case train && p.OwnLoss:
		lossSum = float64(v.logits[0])
		clear(v.logits)
		return v.logits, lossSum
	case in.Labels == nil:
		return v.logits, 0
	}
	return v.logits, p.loss.Sum(v.logitGrads, v.logits, in)
}

// parameters returns the area with the given parameters, to which it copies them if they are not in shared
// memory; nil if there is none.
func (p *pass) parameters(params []float32) *area {
	p.fresh.mu.Lock()
	a := p.fresh.areas[&params[0]]
	p.fresh.mu.Unlock()
	if a == nil {
		if p.copied == nil {
			p.copied = p.borrow(len(params))
		}
		if a = p.copied; a == nil {
			return nil
		}
		copy(a.values, params)
	}
	p.worker.use(a)
	return a
}

// Stats implements model.Pass.
func (p *pass) Stats() []float32 {
	if p.layout.Stats == 0 || p.worker == nil {
		return make([]float32, p.layout.Stats)
	}
	return p.views.stats
}

// Backward implements model.Pass. That of the first bucket starts the backward pass.
func (p *pass) Backward(_ []float32, bucket int, grad []float32) {
	b := p.layout.Buckets[bucket]
	if p.worker == nil || p.samples == 0 {
		clear(grad[b.Lo:b.Hi])
		return
	}
	if bucket == 0 {
		p.worker.send(request{Do: "backward", Pass: p.number})
	}
	for p.answered <= bucket {
		if _, err := p.worker.await(p.number); err != nil {
			clear(grad[b.Lo:b.Hi])
			return
		}
		p.answered++
	}
	copy(grad[b.Lo:b.Hi], p.views.grads[b.Lo:b.Hi])
}

// EmbeddingGrad implements model.Pass.
func (p *pass) EmbeddingGrad() []float32 {
	size := p.samples * p.layout.EmbeddingWidth
	if p.place == nil {
		p.place = make([]float32, size)
	}
	if p.worker == nil || p.samples == 0 {
		clear(p.place)
		return p.place
	}
	if !p.done {
		if _, err := p.worker.await(p.number); err != nil {
			clear(p.place)
			return p.place
		}
		p.done = true
		copy(p.place, p.views.embeddingGrads)
	}
	return p.place
}
