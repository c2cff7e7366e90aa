package role

import (
	"tandem/algo/protocol/event"
	"tandem/algo/unit"
)

var reducedStrategy = strategy{worker: func(*Config) denseSync { return &reduced{} }}

// reduced is dense synchronisation by all-reduce: in every step the gradients of all ranks are summed, in
// lock step. If ranks can come back, a step counts once the EWs have its embedding gradients: see
// rank_recovery.go.
type reduced struct {
	noMessages
	fed   int32 // number of buckets of the current step that are fed
	ended int32 // number of buckets of the current step that are summed
}

// bucketReduced counts the next sum. A rank that is back may receive one that its earlier incarnation waited
// for, and then again.
func (r *reduced) bucketReduced(w *NNWorker, in Input) {
	if in.Work.Step == w.nextTrain && in.Bucket == r.ended && in.Bucket < r.fed {
		r.ended++
	}
}

// everywhere returns the step before which all ranks have all sums, as far as the rank knows: no rank feeds a
// step before it has the sums of the step before.
func (r *reduced) everywhere(w *NNWorker) int32 {
	if r.ended > 0 {
		return w.nextTrain
	}
	return w.nextTrain - 1
}

// advance feeds the buckets that are ready. When all are summed, it starts PEG and the dense optimizer.
func (r *reduced) advance(w *NNWorker, now unit.Tick, out *Outputs) {
	w.forgetBefore(r.everywhere(w), out)
	if w.phase != backward || !w.computed && !w.cfg.Rule.OverlapSync() {
		return
	}
	b := w.find(w.nextTrain)
	if w.cfg.RankRecovery && w.computed && !b.sent {
		w.putGradients(now, b, out)
	}
	for r.fed < w.ready && w.mayFeed(b, r.fed) {
		if r.fed == 0 {
			out.record(w.event(now, event.SyncStarted, w.nextTrain))
		}
		out.feed(Contribution{
			Rank: w.rank, Step: w.nextTrain, Bucket: r.fed, Bytes: w.cfg.Buckets[r.fed],
			Source: w.handle(DenseGradients, w.nextTrain), Sum: w.handle(ReducedGradients, w.nextTrain),
		})
		r.fed++
	}
	if !w.computed || int(r.ended) < len(w.cfg.Buckets) {
		return
	}
	out.record(w.event(now, event.SyncDone, b.step))
	if !b.sent {
		w.putGradients(now, b, out)
	}
	w.denseApply(b, ReducedGradients, out)
	if b.applied {
		w.finishBatch(now, b, out)
	}
}

func (r *reduced) workDone(w *NNWorker, now unit.Tick, _ Work, out *Outputs) {
	w.denseApplied(now, out, DenseGradients, ReducedGradients)
	*r = reduced{}
}

func (r *reduced) finished(*NNWorker) bool { return true }

func (r *reduced) clone() denseSync {
	c := *r
	return &c
}

func (r *reduced) appendState(dst []byte) []byte { return appendInts(dst, r.fed, r.ended) }
