package role

import (
	"tandem/algo/protocol/event"
	"tandem/algo/unit"
)

var averagedStrategy = strategy{worker: func(*Config) denseSync { return &averaged{} }}

// averaged is dense synchronisation by averages: every rank trains its own replica, and all replicas are
// averaged in the background every DenseSync.Every steps. Every rank takes part in every round once, in
// order.
type averaged struct {
	noMessages
	rounds   int32         // number of finished rounds
	round    productStatus // the next round: absent, working (copy), waiting (sum) or finished (average)
	gathered int32         // number of buckets of the sum that are here
}

// due returns the number of averaging rounds after a number of steps: one every DenseSync.Every steps, and
// one after the last step.
func due(w *NNWorker, steps int32) int32 {
	every := w.cfg.Rule.Dense().Every
	if steps == w.end {
		return (steps + every - 1) / every
	}
	return steps / every
}

func (a *averaged) bucketReduced(*NNWorker, Input) { a.gathered++ }

// advance starts PEG and the dense optimizer when BC has ended. Between two batches it continues the
// averaging round. Work of a round is in the same lane as work of the batches, which orders the two, so no
// batch waits for the end of such work.
func (a *averaged) advance(w *NNWorker, now unit.Tick, out *Outputs) {
	if w.phase == backward && w.computed {
		b := w.find(w.nextTrain)
		w.putGradients(now, b, out)
		w.denseApply(b, DenseGradients, out)
	}
	if w.phase != idle {
		return
	}
	switch {
	case a.round == absent && a.rounds < due(w, w.nextTrain):
		a.round = working
		out.startWork(Work{Kind: Snapshot, Rank: w.rank, Step: a.rounds}, nil,
			[]Handle{w.handle(ReplicaCopy, a.rounds)})
	case a.round == waiting && int(a.gathered) == len(w.cfg.Buckets):
		a.round = finished
		out.startWork(Work{Kind: Average, Rank: w.rank, Step: a.rounds},
			[]Handle{w.handle(ReplicaCopy, a.rounds), w.handle(ReplicaSum, a.rounds)}, nil)
	}
}

func (a *averaged) workDone(w *NNWorker, now unit.Tick, done Work, out *Outputs) {
	switch done.Kind {
	case Snapshot:
		a.feedCopy(w, now, out)
	case Average:
		out.record(w.event(now, event.Averaged, a.rounds))
		out.release(ReplicaCopy, w.rank, a.rounds)
		out.release(ReplicaSum, w.rank, a.rounds)
		a.rounds, a.round, a.gathered = a.rounds+1, absent, 0
	default:
		w.denseApplied(now, out, DenseGradients)
	}
}

// feedCopy feeds the copy of the replica to the all-reduce.
func (a *averaged) feedCopy(w *NNWorker, now unit.Tick, out *Outputs) {
	a.round = waiting
	out.record(w.event(now, event.SnapshotTaken, a.rounds))
	for i, bytes := range w.cfg.Buckets {
		out.feed(Contribution{
			Rank: w.rank, Step: a.rounds, Bucket: int32(i), Bytes: bytes,
			Source: w.handle(ReplicaCopy, a.rounds), Sum: w.handle(ReplicaSum, a.rounds),
		})
	}
}

func (a *averaged) finished(w *NNWorker) bool { return a.rounds == due(w, w.end) }

func (a *averaged) clone() denseSync {
	c := *a
	return &c
}

func (a *averaged) appendState(dst []byte) []byte {
	return append(appendInts(dst, a.rounds, a.gathered), byte(a.round))
}
