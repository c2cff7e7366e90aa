package role

import (
	"errors"
	"fmt"
	"slices"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// ErrNonFinite is wrapped by the error of a run whose training has diverged.
var ErrNonFinite = errors.New("the loss or a gradient is not finite; lower the learning rate or check the " +
	"data")

// NNWorker is one rank. It requests embeddings as far ahead as the rule allows, and performs FC, BC and DS of
// one batch after the other. Its denseSync decides when it sends the embedding gradients (PEG): if the ranks
// reduce dense gradients in lock step, when these are reduced, else when backward has ended. It holds the
// embedding gradients until every PS has acknowledged them, so repeated messages have the same bytes.
type NNWorker struct {
	cfg  *Config
	rank int32
	// batches are the batches that are here and not done, in step order.
	batches []trainingBatch
	done    progress
	// nextIssue is the next step to request embeddings for, and nextTrain the current step: the next one to
	// train on. Both advance strictly in order.
	nextIssue, nextTrain int32
	outstanding          int32 // number of batches that are requested and not done
	phase                phase // of the current step
	computed             bool  // Backward of the current step is done
	ready                int32 // number of buckets of the current step that backward has completed
	dense                denseSync
	finished             bool
	// The rank accepts samples of the steps below limit and trains those below end. Both are Config.Steps
	// unless the run drains. From then on offered is true and limit does not change before the end is set.
	limit, end int32
	offered    bool
	asking     bool // the rank is back, and the data loader has not answered yet
}

// phase is the phase of the current step.
type phase uint8

const (
	idle phase = iota
	forward
	backward // and DS, which may overlap it
	applying // the dense optimizer makes its step
)

// trainingBatch is the state of one batch in an NN worker.
type trainingBatch struct {
	step        int32
	samples     int32
	stepSamples int32
	issued      bool       // embeddings are requested
	pooled      bool       // embeddings have arrived
	gradBytes   unit.Bytes // size of the embedding gradients
	sent        bool       // embedding gradients are sent, or dropped
	dropped     bool       // no gradient of the batch counts
	// With Config.RankRecovery:
	kept    bool // the EW has the embedding gradients
	applied bool // every PS has applied them, and some bucket is not reduced yet
	over    bool // done, and held until all ranks have the sums of its step
	atEW    bool // only the EW has the gradients: an earlier incarnation of the rank has made them
}

// NewNNWorker returns the NN worker of a rank.
func NewNNWorker(cfg *Config, rank int32) *NNWorker {
	return &NNWorker{cfg: cfg, rank: rank, dense: cfg.strategy().worker(cfg), limit: cfg.Steps,
		end: cfg.Steps}
}

// Address implements Role.
func (w *NNWorker) Address() msg.Address { return nnWorker(w.rank) }

// HandleInput implements Role.
func (w *NNWorker) HandleInput(now unit.Tick, in Input, out *Outputs) {
	switch in.Kind {
	case Start:
		if in.Incarnation > 0 {
			w.comeBack(now, in.Next, out)
		}
		armTimer(w.cfg, now, out)
	case Received:
		w.receive(now, in.Message, out)
	case WorkPart:
		w.ready = in.Bucket + 1
	case WorkDone:
		w.workDone(now, in, out)
	case WorkFailed:
		out.halt(fmt.Errorf("%v, %v of step %d: %w", w.Address(), in.Work.Kind, in.Work.Step, in.Reason))
		return
	case BucketReduced:
		w.dense.bucketReduced(w, in)
	case TimerFired:
		w.resendUnanswered(out)
		armTimer(w.cfg, now, out)
	}
	w.issueLookups(now, out)
	w.dense.advance(w, now, out)
	w.startForward(now, out)
	w.finish(out)
}

// finish reports, once, that every step is trained and acknowledged. The last acknowledgement may come before
// the end of the last optimizer step.
func (w *NNWorker) finish(out *Outputs) {
	if w.finished || !w.allDone() || w.nextTrain < w.end || !w.dense.finished(w) {
		return
	}
	w.finished = true
	out.List = append(out.List, Output{Kind: Finished})
}

// allDone reports whether every batch is done.
func (w *NNWorker) allDone() bool {
	return w.done.floor >= w.end ||
		w.done.floor == w.end-1 && len(w.batches) > 0 && w.batches[0].over
}

func (w *NNWorker) find(step int32) *trainingBatch {
	i, found := slices.BinarySearchFunc(w.batches, step,
		func(b trainingBatch, s int32) int { return int(b.step - s) })
	if !found {
		return nil
	}
	return &w.batches[i]
}

func (w *NNWorker) receive(now unit.Tick, m msg.Message, out *Outputs) {
	switch m.Kind {
	case msg.Samples:
		w.receiveSamples(m, out)
	case msg.Embeddings:
		if b := w.find(m.Step); b != nil && b.issued && !b.pooled && !b.sent {
			b.pooled = true
			out.keep(PooledRows, w.rank, m.Step)
			out.record(w.event(now, event.EmbeddingsArrived, m.Step))
		}
	case msg.AskProgress:
		w.send(out, msg.Progress, loader, w.done.floor, nil, 0)
	case msg.AskEnd:
		w.offerEnd(m.Step, out)
	case msg.SetEnd:
		w.limit, w.end = m.Step, m.Step
		acknowledgeEnd(m, out)
	case msg.PutDone:
		w.receivePutDone(now, m, out)
	case msg.GradientsKept:
		if b := w.find(m.Step); b != nil && b.sent {
			b.kept = true
		}
	case msg.GradientsLost, msg.EmbeddingsLost:
		w.receiveLost(m, out)
	case msg.SamplesAsked:
		w.receiveSamplesAsked(m, out)
	default:
		w.dense.receive(w, now, m, out)
	}
}

// receivePutDone ends a batch, unless its dense gradients are not reduced yet.
func (w *NNWorker) receivePutDone(now unit.Tick, m msg.Message, out *Outputs) {
	b := w.find(m.Step)
	switch {
	case b == nil || !b.sent || b.over:
	case w.cfg.RankRecovery && b.step == w.nextTrain && w.phase == backward:
		b.kept, b.applied = true, true
	default:
		w.finishBatch(now, b, out)
	}
}

// finishBatch ends a batch that every PS has acknowledged.
func (w *NNWorker) finishBatch(now unit.Tick, b *trainingBatch, out *Outputs) {
	if !b.dropped && !b.atEW {
		out.release(PooledGrads, w.rank, b.step)
	}
	w.outstanding--
	out.record(w.event(now, event.BatchDone, b.step))
	if w.cfg.RankRecovery {
		b.over = true // see forgetBefore
		return
	}
	w.forget(b.step, out)
}

// forget lets data loader and EWs forget a batch.
func (w *NNWorker) forget(step int32, out *Outputs) {
	w.done.add(step)
	w.batches = slices.DeleteFunc(w.batches, func(t trainingBatch) bool { return t.step == step })
	w.send(out, msg.StepDone, loader, step, nil, 0)
}

func (w *NNWorker) receiveSamples(m msg.Message, out *Outputs) {
	if w.done.has(m.Step) {
		w.send(out, msg.StepDone, loader, m.Step, nil, 0)
		return
	}
	if m.Step >= w.limit {
		return // dealt out before a crash of the data loader, or repeated when the end is known
	}
	if w.find(m.Step) == nil {
		i, _ := slices.BinarySearchFunc(w.batches, m.Step,
			func(b trainingBatch, s int32) int { return int(b.step - s) })
		w.batches = slices.Insert(w.batches, i, trainingBatch{
			step: m.Step, samples: m.Samples, stepSamples: m.StepSamples,
		})
		out.keep(BatchSamples, w.rank, m.Step)
	}
	w.send(out, msg.SamplesAck, loader, m.Step, nil, 0)
}

// issueLookups requests embeddings as far ahead as the rule allows.
func (w *NNWorker) issueLookups(now unit.Tick, out *Outputs) {
	for w.cfg.mayIssue(w.nextIssue, w.outstanding) {
		b := w.find(w.nextIssue)
		if b == nil {
			return
		}
		b.issued = true
		w.outstanding++
		w.nextIssue++
		out.record(w.event(now, event.LookupIssued, b.step))
		w.requestEmbeddings(b, out)
	}
}

func (w *NNWorker) requestEmbeddings(b *trainingBatch, out *Outputs) {
	w.send(out, msg.GetEmbeddings, w.cfg.WorkerOf(w.rank, b.step), b.step, b, 0)
}

func (w *NNWorker) sendGradients(b *trainingBatch, out *Outputs) {
	if b.dropped {
		w.send(out, msg.DropBatch, w.cfg.WorkerOf(w.rank, b.step), b.step, nil, 0)
		return
	}
	w.send(out, msg.PutGradients, w.cfg.WorkerOf(w.rank, b.step), b.step, b, b.gradBytes)
}

func (w *NNWorker) send(out *Outputs, k msg.Kind, to msg.Address, step int32, b *trainingBatch,
	bytes unit.Bytes) {
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

// workDone handles the end of work on the current step.
func (w *NNWorker) workDone(now unit.Tick, in Input, out *Outputs) {
	switch in.Work.Kind {
	case Forward:
		w.phase = backward
		out.record(w.event(now, event.BackwardStarted, w.nextTrain))
		work := in.Work
		work.Kind = Backward
		out.startWork(work, []Handle{w.handle(BatchSamples, work.Step)},
			[]Handle{w.handle(PooledGrads, work.Step), w.handle(DenseGradients, work.Step)})
	case Backward:
		if what := in.Result.NotFinite; what != "" {
			out.halt(fmt.Errorf("%v, step %d: %w; first found in %s", w.Address(), w.nextTrain, ErrNonFinite,
				what))
			return
		}
		w.computed = true
		out.record(w.event(now, event.BackwardDone, w.nextTrain))
		w.find(w.nextTrain).gradBytes = in.Result.Bytes
		out.release(BatchSamples, w.rank, w.nextTrain)
		out.release(PooledRows, w.rank, w.nextTrain)
		for _, h := range w.dense.forwardReads(w, w.nextTrain) {
			out.release(h.Kind, h.Rank, h.Step)
		}
	default:
		w.dense.workDone(w, now, in.Work, out)
	}
}

// denseApplied ends a step after the dense optimizer: it releases the handles of the kinds read.
func (w *NNWorker) denseApplied(now unit.Tick, out *Outputs, read ...HandleKind) {
	out.record(w.event(now, event.DenseApplied, w.nextTrain))
	for _, k := range read {
		out.release(k, w.rank, w.nextTrain)
	}
	w.nextStep()
}

// nextStep continues with the next step.
func (w *NNWorker) nextStep() {
	w.phase, w.computed, w.ready = idle, false, 0
	w.nextTrain++
}

// putGradients starts stage PEG.
func (w *NNWorker) putGradients(now unit.Tick, b *trainingBatch, out *Outputs) {
	b.sent = true
	out.record(w.event(now, event.GradientsSent, b.step))
	w.sendGradients(b, out)
}

// dropBatch ends a batch whose gradients do not count, and requests that the EW forgets it.
func (w *NNWorker) dropBatch(b *trainingBatch, out *Outputs) {
	b.sent, b.dropped = true, true
	if w.computed {
		out.release(PooledGrads, w.rank, b.step)
	} else {
		out.release(BatchSamples, w.rank, b.step)
		if b.pooled {
			out.release(PooledRows, w.rank, b.step)
		}
	}
	w.sendGradients(b, out)
}

// denseApply starts the step of the dense optimizer with gradients of a kind.
func (w *NNWorker) denseApply(b *trainingBatch, gradients HandleKind, out *Outputs) {
	w.phase = applying
	out.startWork(w.work(DenseApply, b), []Handle{w.handle(gradients, b.step)}, nil)
}

// startForward starts FC of the current step when its embeddings and its dense parameters are here.
func (w *NNWorker) startForward(now unit.Tick, out *Outputs) {
	b := w.find(w.nextTrain)
	if w.phase != idle || b == nil {
		return
	}
	if !w.dense.ready(w, b, out) || !b.pooled {
		return
	}
	w.phase = forward
	out.record(w.event(now, event.ForwardStarted, b.step))
	reads := []Handle{w.handle(BatchSamples, b.step), w.handle(PooledRows, b.step)}
	out.startWork(w.work(Forward, b), append(reads, w.dense.forwardReads(w, b.step)...), nil)
}

func (w *NNWorker) work(k WorkKind, b *trainingBatch) Work {
	return Work{Kind: k, Rank: w.rank, Step: b.step, Samples: b.samples, StepSamples: b.stepSamples}
}

func (w *NNWorker) handle(k HandleKind, step int32) Handle { return Handle{k, w.rank, step} }

// resendUnanswered repeats all unanswered requests.
func (w *NNWorker) resendUnanswered(out *Outputs) {
	for i := range w.batches {
		b := &w.batches[i]
		switch {
		case b.applied || b.over: // the batch waits for other ranks
		case b.atEW && w.asking:
		case b.atEW:
			w.askKept(b, out)
		case b.sent:
			w.sendGradients(b, out)
		case b.issued && !b.pooled:
			w.requestEmbeddings(b, out)
		}
	}
	if w.asking {
		w.askSamples(out)
	}
	w.dense.resend(w, out)
}

func (w *NNWorker) event(now unit.Tick, k event.Kind, step int32) event.Record {
	return event.Record{At: now, Role: w.Address(), Kind: k, Rank: w.rank, Step: step}
}

// Clone implements Role.
func (w *NNWorker) Clone() Role {
	c := *w
	c.batches = slices.Clone(w.batches)
	c.done = w.done.clone()
	c.dense = w.dense.clone()
	return &c
}

// AppendState implements Role.
func (w *NNWorker) AppendState(dst []byte) []byte {
	dst = w.done.appendState(dst)
	dst = appendInts(dst, w.nextIssue, w.nextTrain, w.outstanding, int32(w.phase), w.ready)
	dst = appendInts(dst, w.limit, w.end)
	dst = appendFlags(dst, w.computed, w.finished, w.offered, w.asking)
	for i := range w.batches {
		b := &w.batches[i]
		dst = appendInts(dst, b.step)
		dst = appendFlags(dst, b.issued, b.pooled, b.sent, b.dropped, b.kept, b.applied, b.atEW, b.over)
	}
	return w.dense.appendState(dst)
}
