package role

import (
	"errors"
	"fmt"
	"slices"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// With Config.RankRecovery a rank survives the death of its process, because nothing of it is in one place
// only:
//
//   - The parameters, with the optimizer's state and hot rows, are equal on all ranks. The driver gives the
//     rank that is back those of another, as they are before some step Next. The rank had not forgotten a
//     batch of step Next or later: it does so when a sum of the step after shows that all ranks have those
//     of the batch, which may have been lost with the rank on their way (forgetBefore).
//   - The embedding gradients of earlier steps are at the EWs: a rank feeds its last bucket of a step only
//     when the EW has the embedding gradients of its batch (GradientsKept).
//   - The samples of step Next and later ones are at the data loader, which holds them until the rank
//     forgets them.
//   - The pooled embeddings of these steps, of which the rank had begun to train two at most, are at the EW
//     until then. From equal samples, parameters and embeddings the rank computes the bits that it had
//     computed before. So it does not matter which of its buckets are reduced already, or whether the EW has
//     applied its embedding gradients.
//
// If an EW has crashed since it made or received its part of this, and no rank can make it again, it is lost.
// The EW says so (GradientsLost, EmbeddingsLost), and the run ends. That is why the batches of a rank go to
// EWs of other processes (Config.ProcessOf).

// ErrBatchLost is wrapped by the error of a run in which a rank and an EW have lost the same batch.
var ErrBatchLost = errors.New("the embedding worker of the batch was lost as well; begin again with the " +
	"newest checkpoint")

// ErrParametersLost is the error of a run all of whose ranks are away at once.
var ErrParametersLost = errors.New("all ranks have crashed, and no rank has the parameters; begin again " +
	"with the newest checkpoint")

// comeBack begins with step next after a crash. At most Prefetch batches of a rank are outstanding, so all
// steps before the last Prefetch ones are finished. The data loader knows more of these steps, and the EWs
// have the gradients of the rest.
func (w *NNWorker) comeBack(now unit.Tick, next int32, out *Outputs) {
	*w = *NewNNWorker(w.cfg, w.rank)
	out.record(w.event(now, event.RankReturned, next))
	w.nextIssue, w.nextTrain = next, next
	w.done.floor = max(0, next-w.cfg.Prefetch)
	for step := w.done.floor; step < next; step++ {
		w.batches = append(w.batches, trainingBatch{step: step, issued: true, pooled: true, sent: true,
			kept: true, atEW: true})
		w.outstanding++
	}
	w.asking = true
	w.askSamples(out)
}

// askSamples asks the data loader for all samples that the rank has not trained.
func (w *NNWorker) askSamples(out *Outputs) {
	w.send(out, msg.AskSamples, loader, w.nextTrain, nil, 0)
}

// receiveSamplesAsked learns from the data loader which steps are finished and, if that is decided, where the
// run ends. It asks the EWs for the other steps of earlier incarnations.
func (w *NNWorker) receiveSamplesAsked(m msg.Message, out *Outputs) {
	if !w.asking {
		return // a repeated answer
	}
	w.asking = false
	w.limit, w.end = min(w.limit, m.Step), min(w.end, m.Step)
	w.done.raise(m.Floor)
	w.batches = slices.DeleteFunc(w.batches, func(b trainingBatch) bool {
		finished := b.atEW && b.step < m.Floor
		if finished {
			w.outstanding--
		}
		return finished
	})
	for i := range w.batches {
		if b := &w.batches[i]; b.atEW {
			w.askKept(b, out)
		}
	}
}

// askKept asks the EW whether it has the gradients of a batch of an earlier incarnation.
func (w *NNWorker) askKept(b *trainingBatch, out *Outputs) {
	w.send(out, msg.AskKept, w.cfg.WorkerOf(w.rank, b.step), b.step, nil, 0)
}

// forgetBefore lets data loader and EWs forget the batches before a step that are done.
func (w *NNWorker) forgetBefore(step int32, out *Outputs) {
	for len(w.batches) > 0 && w.batches[0].step < step && w.batches[0].over {
		w.forget(w.batches[0].step, out)
	}
}

// mayFeed reports whether a bucket of batch b may be reduced.
func (w *NNWorker) mayFeed(b *trainingBatch, bucket int32) bool {
	return !w.cfg.RankRecovery || int(bucket) < len(w.cfg.Buckets)-1 || b.kept
}

// receiveLost ends the run, unless the message answers a late duplicate.
func (w *NNWorker) receiveLost(m msg.Message, out *Outputs) {
	b := w.find(m.Step)
	if b != nil && (m.Kind == msg.GradientsLost && b.atEW ||
		m.Kind == msg.EmbeddingsLost && b.issued && !b.pooled) {
		out.halt(fmt.Errorf("%v, step %d: %w", w.Address(), m.Step, ErrBatchLost))
	}
}

// redeal sends a rank that is back all samples of step next and later ones that were dealt to it, and says
// what the rank has finished, and where the run ends.
func (l *DataLoader) redeal(rank, next int32, out *Outputs) {
	if l.unknown != nil {
		return // the loader is back too, and deals again from the progress of the ranks; the rank asks again
	}
	answer := msg.Message{Kind: msg.SamplesAsked, From: loader, To: nnWorker(rank), Rank: rank,
		Step: l.cfg.Steps, Floor: min(l.firstUnfinished(rank), next), Bytes: msg.HeaderBytes}
	if l.drain.round >= tellRanks {
		answer.Step = l.drain.end
	}
	out.send(answer, Handle{})
	for i := range l.batches {
		if b := &l.batches[i]; b.step >= next && b.step < l.undealt[rank] && !b.done[rank] {
			b.acked[rank] = false
			l.sendSamples(b, rank, out)
		}
	}
}

// firstUnfinished returns the first step that a rank has not finished, as far as the loader knows.
func (l *DataLoader) firstUnfinished(rank int32) int32 {
	for i := range l.batches {
		if b := &l.batches[i]; !b.done[rank] {
			return b.step
		}
	}
	return l.undealt[rank]
}

// receiveAskKept answers a rank that is back.
func (e *EmbeddingWorker) receiveAskKept(m msg.Message, out *Outputs) {
	b := e.find(m.Rank, m.Step)
	if b == nil || b.merge == absent {
		e.sendAnswer(out, msg.GradientsLost, m.Rank, m.Step, nil, 0)
		return
	}
	if b.merge == finished {
		e.resendUnanswered(b, msg.Put, out)
	}
	e.sendAnswer(out, msg.GradientsKept, m.Rank, m.Step, nil, 0)
}

// repeatEmbeddings answers a request for the embeddings of a batch whose gradients are here: from a rank that
// is back, or a late duplicate.
func (e *EmbeddingWorker) repeatEmbeddings(rank, step int32, out *Outputs) {
	b := e.find(rank, step)
	switch {
	case !e.cfg.RankRecovery:
	case b == nil || b.pool == absent:
		e.sendAnswer(out, msg.EmbeddingsLost, rank, step, nil, 0)
	case b.pool == finished:
		e.sendAnswer(out, msg.Embeddings, rank, step, b, b.poolBytes)
	}
}
