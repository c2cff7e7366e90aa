package role

import (
	"fmt"
	"slices"

	"tandem/algo/event"
	"tandem/algo/msg"
	"tandem/algo/pace"
	"tandem/algo/unit"
)

// NNWorker is one rank. It asks for embeddings as far ahead as the rule
// allows, and takes one batch after the other through FC, BC and DS. Where the
// ranks reduce dense gradients in lock step, it hands the embedding gradients
// over (PEG) only when those are reduced; else when backward has ended. It keeps
// what it hands over until every PS has acknowledged, so that what is sent again
// is those same bytes.
type NNWorker struct {
	cfg  *Config
	rank int32
	// batches are those known and not done, in step order.
	batches []training
	done    progress
	// nextIssue and nextTrain are the next steps to ask embeddings for and to
	// train on. Steps are taken strictly in order.
	nextIssue, nextTrain int32
	outstanding          int32 // batches asked for and not done
	phase                phase // of step nextTrain
	computed             bool  // Backward of nextTrain is done
	ready                int32 // buckets of nextTrain that backward has finished
	fed                  int32 // … of them handed to the all-reduce
	reduced              int32 // … of those summed over all ranks
	served               served
	averaged             averaged
	finished             bool
}

// phase is what the dense network of a rank is doing.
type phase uint8

const (
	idle phase = iota
	forward
	backward // and DS, which may overlap it
	applying // the dense optimizer steps
)

// training is a batch in an NN worker's hands.
type training struct {
	step        int32
	samples     int32
	stepSamples int32
	issued      bool       // embeddings asked for
	pooled      bool       // embeddings are, or were, here
	gradBytes   unit.Bytes // size of the embedding gradients
	sent        bool       // embedding gradients handed over
}

// NewNNWorker returns rank's NN worker.
func NewNNWorker(cfg *Config, rank int32) *NNWorker { return &NNWorker{cfg: cfg, rank: rank} }

// Address implements Role.
func (w *NNWorker) Address() msg.Address { return nnWorker(w.rank) }

// Step implements Role.
func (w *NNWorker) Step(now unit.Tick, in Input, out *Outputs) {
	switch in.Kind {
	case Start:
		armTimer(w.cfg, now, out)
	case Received:
		w.receive(now, in.Message, out)
	case WorkPart:
		w.ready = in.Bucket + 1
	case WorkDone:
		w.worked(now, in, out)
	case WorkFailed:
		out.halt(fmt.Errorf("%v, %v of step %d: %w", w.Address(), in.Work.Kind, in.Work.Step, in.Reason))
		return
	case BucketReduced:
		if w.cfg.Rule.Dense().Kind == pace.Averaged {
			w.averaged.gathered++
		} else {
			w.reduced++
		}
	case TimerFired:
		w.resend(out)
		armTimer(w.cfg, now, out)
	}
	w.issue(now, out)
	w.synchronise(now, out)
	w.average(out)
	w.train(now, out)
	w.finish(out)
}

// finish reports, once, that every step is trained and acknowledged. The last
// acknowledgement may overtake the last step of the dense optimizer.
func (w *NNWorker) finish(out *Outputs) {
	if w.finished || w.done.floor < w.cfg.Steps || w.nextTrain < w.cfg.Steps || !w.denseFinished() {
		return
	}
	w.finished = true
	out.List = append(out.List, Output{Kind: Finished})
}

// denseFinished reports whether nothing of the dense network is under way after
// the last step.
func (w *NNWorker) denseFinished() bool {
	switch w.cfg.Rule.Dense().Kind {
	case pace.Served:
		return w.served.pushed.floor == w.cfg.Steps
	case pace.Averaged:
		return w.averaged.rounds == w.cfg.rounds(w.cfg.Steps)
	}
	return true
}

func (w *NNWorker) find(step int32) *training {
	i, found := slices.BinarySearchFunc(w.batches, step, func(b training, s int32) int { return int(b.step - s) })
	if !found {
		return nil
	}
	return &w.batches[i]
}

func (w *NNWorker) receive(now unit.Tick, m msg.Message, out *Outputs) {
	switch m.Kind {
	case msg.Samples:
		w.takeSamples(m, out)
	case msg.Embeddings:
		if b := w.find(m.Step); b != nil && b.issued && !b.pooled {
			b.pooled = true
			out.keep(PooledRows, w.rank, m.Step)
			out.record(w.event(now, event.EmbeddingsArrived, m.Step))
		}
	case msg.Params:
		w.parameters(m, out)
	case msg.PushAck:
		w.pushAcked(now, m, out)
	case msg.AskProgress:
		w.send(out, msg.Progress, loader, w.done.floor, nil, 0)
	case msg.SlowestClock:
		w.served.slowest = max(w.served.slowest, m.Step)
	case msg.PutDone:
		b := w.find(m.Step)
		if b == nil || !b.sent {
			return
		}
		out.release(PooledGrads, w.rank, b.step)
		w.done.add(b.step)
		w.outstanding--
		w.batches = slices.DeleteFunc(w.batches, func(t training) bool { return t.step == m.Step })
		out.record(w.event(now, event.BatchDone, m.Step))
		w.send(out, msg.StepDone, loader, m.Step, nil, 0)
	}
}

func (w *NNWorker) takeSamples(m msg.Message, out *Outputs) {
	if w.done.has(m.Step) {
		w.send(out, msg.StepDone, loader, m.Step, nil, 0)
		return
	}
	if w.find(m.Step) == nil {
		i, _ := slices.BinarySearchFunc(w.batches, m.Step, func(b training, s int32) int { return int(b.step - s) })
		w.batches = slices.Insert(w.batches, i, training{
			step: m.Step, samples: m.Samples, stepSamples: m.StepSamples,
		})
		out.keep(BatchSamples, w.rank, m.Step)
	}
	w.send(out, msg.SamplesAck, loader, m.Step, nil, 0)
}

// issue asks for embeddings as far ahead as the rule allows.
func (w *NNWorker) issue(now unit.Tick, out *Outputs) {
	for w.cfg.Rule.MayIssue(int(w.outstanding)) {
		b := w.find(w.nextIssue)
		if b == nil {
			return
		}
		b.issued = true
		w.outstanding++
		w.nextIssue++
		out.record(w.event(now, event.LookupIssued, b.step))
		w.ask(b, out)
	}
}

func (w *NNWorker) ask(b *training, out *Outputs) {
	w.send(out, msg.GetEmbeddings, w.cfg.workerOf(w.rank, b.step), b.step, b, 0)
}

func (w *NNWorker) put(b *training, out *Outputs) {
	w.send(out, msg.PutGradients, w.cfg.workerOf(w.rank, b.step), b.step, b, b.gradBytes)
}

func (w *NNWorker) send(out *Outputs, k msg.Kind, to msg.Address, step int32, b *training, bytes unit.Bytes) {
	m := msg.Message{
		Kind: k, From: w.Address(), To: to, Rank: w.rank, Step: step, Floor: w.done.floor,
		Bytes: msg.HeaderBytes + bytes,
	}
	if b != nil {
		m.Samples, m.StepSamples = b.samples, b.stepSamples
	}
	var payload Handle
	if k == msg.PutGradients {
		payload = w.handle(PooledGrads, step)
	}
	out.send(m, payload)
}

// worked moves the batch in training on.
func (w *NNWorker) worked(now unit.Tick, in Input, out *Outputs) {
	switch in.Work.Kind {
	case Forward:
		w.phase = backward
		out.record(w.event(now, event.BackwardStarted, w.nextTrain))
		work := in.Work
		work.Kind = Backward
		out.do(work, []Handle{w.handle(BatchSamples, work.Step)},
			[]Handle{w.handle(PooledGrads, work.Step), w.handle(DenseGradients, work.Step)})
	case Backward:
		if in.Result.NonFinite {
			out.halt(fmt.Errorf("%v, step %d: the loss or a gradient is not finite; lower the learning rate or check the data",
				w.Address(), w.nextTrain))
			return
		}
		w.computed = true
		out.record(w.event(now, event.BackwardDone, w.nextTrain))
		w.find(w.nextTrain).gradBytes = in.Result.Bytes
		out.release(BatchSamples, w.rank, w.nextTrain)
		out.release(PooledRows, w.rank, w.nextTrain)
		if w.served.pulled != nil {
			out.release(PulledParams, w.rank, w.nextTrain)
		}
	case DenseApply:
		out.record(w.event(now, event.DenseApplied, w.nextTrain))
		out.release(DenseGradients, w.rank, w.nextTrain)
		if w.reduced > 0 {
			out.release(ReducedGradients, w.rank, w.nextTrain)
		}
		w.advance()
	case Snapshot:
		w.snapshotTaken(now, out)
	case Average:
		w.meanFolded(now, out)
	}
}

// advance makes the rank ready for the next step.
func (w *NNWorker) advance() {
	w.phase, w.computed = idle, false
	w.ready, w.fed, w.reduced = 0, 0, 0
	w.nextTrain++
}

// synchronise is what follows backward, stage DS above all.
func (w *NNWorker) synchronise(now unit.Tick, out *Outputs) {
	if w.phase != backward {
		return
	}
	kind := w.cfg.Rule.Dense().Kind
	if kind == pace.AllReduced {
		w.allReduce(now, out)
		return
	}
	if !w.computed {
		return
	}
	b := w.find(w.nextTrain)
	if kind == pace.Served {
		w.push(now, b, out)
		w.putGradients(now, b, out)
		w.advance()
		return
	}
	w.putGradients(now, b, out)
	w.denseApply(b, DenseGradients, out)
}

// allReduce feeds buckets that are ready to the all-reduce, and once all are
// back starts PEG and the dense optimizer.
func (w *NNWorker) allReduce(now unit.Tick, out *Outputs) {
	if !w.computed && !w.cfg.Rule.OverlapSync() {
		return
	}
	for w.fed < w.ready {
		if w.fed == 0 {
			out.record(w.event(now, event.SyncStarted, w.nextTrain))
		}
		out.feed(Contribution{
			Rank: w.rank, Step: w.nextTrain, Bucket: w.fed, Bytes: w.cfg.Buckets[w.fed],
			Source: w.handle(DenseGradients, w.nextTrain), Sum: w.handle(ReducedGradients, w.nextTrain),
		})
		w.fed++
	}
	if !w.computed || int(w.reduced) < len(w.cfg.Buckets) {
		return
	}
	b := w.find(w.nextTrain)
	out.record(w.event(now, event.SyncDone, b.step))
	w.putGradients(now, b, out)
	w.denseApply(b, ReducedGradients, out)
}

// putGradients starts stage PEG.
func (w *NNWorker) putGradients(now unit.Tick, b *training, out *Outputs) {
	b.sent = true
	out.record(w.event(now, event.GradientsSent, b.step))
	w.put(b, out)
}

// denseApply starts the dense optimizer step on gradients.
func (w *NNWorker) denseApply(b *training, gradients HandleKind, out *Outputs) {
	w.phase = applying
	out.do(w.work(DenseApply, b), []Handle{w.handle(gradients, b.step)}, nil)
}

// train starts FC of the next step when its embeddings are here, and its dense
// parameters where those are not the rank's own.
func (w *NNWorker) train(now unit.Tick, out *Outputs) {
	b := w.find(w.nextTrain)
	if w.phase != idle || b == nil {
		return
	}
	if w.cfg.Rule.Dense().Kind == pace.Served {
		w.pull(b, out)
		if w.served.pulled == nil || !settled(w.served.pulled) {
			return
		}
	}
	if !b.pooled {
		return
	}
	w.phase = forward
	out.record(w.event(now, event.ForwardStarted, b.step))
	reads := []Handle{w.handle(BatchSamples, b.step), w.handle(PooledRows, b.step)}
	if w.served.pulled != nil {
		reads = append(reads, w.handle(PulledParams, b.step))
	}
	out.do(w.work(Forward, b), reads, nil)
}

func (w *NNWorker) work(k WorkKind, b *training) Work {
	return Work{Kind: k, Rank: w.rank, Step: b.step, Samples: b.samples, StepSamples: b.stepSamples}
}

func (w *NNWorker) handle(k HandleKind, step int32) Handle { return Handle{k, w.rank, step} }

// resend asks again for whatever was not answered.
func (w *NNWorker) resend(out *Outputs) {
	for i := range w.batches {
		b := &w.batches[i]
		switch {
		case b.sent:
			w.put(b, out)
		case b.issued && !b.pooled:
			w.ask(b, out)
		}
	}
	if w.cfg.Rule.Dense().Kind == pace.Served {
		w.resendServed(out)
	}
}

func (w *NNWorker) event(now unit.Tick, k event.Kind, step int32) event.Record {
	return event.Record{At: now, Role: w.Address(), Kind: k, Rank: w.rank, Step: step}
}

// Clone implements Role.
func (w *NNWorker) Clone() Role {
	c := *w
	c.batches = slices.Clone(w.batches)
	c.done = w.done.clone()
	c.served = w.served.clone()
	return &c
}

// AppendState implements Role.
func (w *NNWorker) AppendState(dst []byte) []byte {
	dst = w.done.append(dst)
	dst = appendInts(dst, w.nextIssue, w.nextTrain, w.outstanding, int32(w.phase), w.ready, w.fed, w.reduced)
	dst = appendFlags(dst, w.computed, w.finished)
	for i := range w.batches {
		b := &w.batches[i]
		dst = appendInts(dst, b.step)
		dst = appendFlags(dst, b.issued, b.pooled, b.sent)
	}
	switch w.cfg.Rule.Dense().Kind {
	case pace.Served:
		dst = w.served.append(dst)
	case pace.Averaged:
		dst = w.averaged.append(dst)
	}
	return dst
}
