package torch

import (
	"errors"
	"runtime"

	"tandem/algo/numeric/model"
)

// pass is a model.Pass in the process of a rank. After a failure it goes on without effect: see Engine.Err.
type pass struct {
	*engine
	rank, samplesMax int
	loss             *model.Loss

	processes *processes
	worker    *worker // nil if it could not be started
	number    int
	memory    *area
	copied    *area // parameters that are not in the memory of the processes; nil: there were none

	samples  int       // of the current group
	views    views     // of the current group
	place    []float32 // where the gradients of the embeddings belong; nil: anywhere
	answered int       // buckets that are final
	done     bool      // those of the embeddings are final, too
}

// views are the parts of the memory of a pass, for one group of samples, in the order of Pass in
// tandem_worker/worker.py.
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
func newPass(e *engine, rank, samplesMax int) *pass {
	p := &pass{engine: e, rank: rank, samplesMax: samplesMax, loss: model.NewLoss(e.spec)}
	err := p.begin(e.processes())
	if errors.Is(err, model.ErrLost) {
		err = p.beginAgain()
	}
	if err != nil {
		e.fail(err)
	}
	return p
}

// beginAgain is begin in the place of processes that have died.
func (p *pass) beginAgain() error {
	again, err := p.replace(p.processes)
	if err != nil {
		return err
	}
	return p.begin(again)
}

// begin gives the pass a process and memory.
func (p *pass) begin(in *processes) error {
	p.processes, p.worker, p.copied = in, nil, nil
	w, err := in.worker(p.rank)
	if err != nil {
		return err
	}
	if p.memory, err = p.borrow(floats(&p.layout, p.samplesMax)); err != nil {
		return err
	}
	if p.Copies {
		w.place(p.rank)
	}
	p.worker, p.number = w, w.newPass(len(p.layout.Buckets)+2)
	w.mapArea(p.memory)
	return nil
}

// borrow returns an area for as long as there is the pass.
func (p *pass) borrow(floats int) (*area, error) {
	a, err := p.processes.allocate(floats)
	if err == nil {
		runtime.AddCleanup(p, func(a *area) { a.of.release(a) }, a)
	}
	return a, err
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
	if in.Samples == 0 {
		p.views = cut(p.memory.values, &p.layout, 0)
		clear(p.views.stats)
		return zeros()
	}
	err := p.compute(params, running, in, train)
	if !train && errors.Is(err, model.ErrLost) { // a prediction has left nothing in the process
		if err = p.beginAgain(); err == nil {
			err = p.compute(params, running, in, train)
		}
	}
	if err != nil {
		p.fail(err)
		return zeros()
	}
	v := p.views
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

// compute runs the forward pass of a group in the process.
func (p *pass) compute(params, running []float32, in model.Input, train bool) error {
	v := cut(p.memory.values, &p.layout, in.Samples)
	p.views = v
	copy(v.embeddings, in.Embeddings)
	copy(v.numbers, in.Dense)
	copy(v.labels, in.Labels)
	if units := p.layout.Units; units != nil && p.OwnLoss { // in the units of what the module returns
		for i := range in.Labels {
			u := units[i%len(units)]
			v.labels[i] = (v.labels[i] - u.Center) / u.Scale
		}
	}
	copy(v.running, running)
	own, err := p.parameters(params)
	if err != nil {
		return err
	}
	_, err = p.worker.call(request{Do: "forward", Pass: p.number, Area: p.memory.number, Params: own.number,
		Samples: in.Samples, Train: train})
	return err
}

// parameters returns the area with the given parameters, to which it copies them if they are not in the
// memory of the processes.
func (p *pass) parameters(params []float32) (a *area, err error) {
	p.fresh.mu.Lock()
	a = p.fresh.areas[&params[0]]
	p.fresh.mu.Unlock()
	if a == nil || a.of != p.processes {
		if p.copied == nil {
			if p.copied, err = p.borrow(len(params)); err != nil {
				return nil, err
			}
		}
		a = p.copied
		copy(a.values, params)
	}
	p.worker.mapArea(a)
	return a, nil
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
			p.fail(err)
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
			p.fail(err)
			clear(p.place)
			return p.place
		}
		p.done = true
		copy(p.place, p.views.embeddingGrads)
	}
	return p.place
}
