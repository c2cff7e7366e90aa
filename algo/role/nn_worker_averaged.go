package role

import (
	"tandem/algo/event"
	"tandem/algo/unit"
)

// averaged is how far an NN worker is with the averages of its replica. Every
// rank takes part in every round once, in order.
type averaged struct {
	rounds   int32 // finished
	round    stage // the next one: absent, working on the copy, waiting for the mean, finished: folding it in
	gathered int32 // buckets of the mean that are here
}

// average moves the averaging round in hand on, between two batches. The work
// goes into the same lane as that of the batches, so neither waits for it.
func (w *NNWorker) average(out *Outputs) {
	a := &w.averaged
	if w.cfg.Rule.Dense().Every == 0 || w.phase != idle {
		return
	}
	switch {
	case a.round == absent && a.rounds < w.cfg.rounds(w.nextTrain):
		a.round = working
		out.do(Work{Kind: Snapshot, Rank: w.rank, Step: a.rounds}, nil, []Handle{w.handle(ReplicaCopy, a.rounds)})
	case a.round == waiting && int(a.gathered) == len(w.cfg.Buckets):
		a.round = finished
		out.do(Work{Kind: Average, Rank: w.rank, Step: a.rounds},
			[]Handle{w.handle(ReplicaCopy, a.rounds), w.handle(ReplicaSum, a.rounds)}, nil)
	}
}

// snapshotTaken gives the copy to the all-reduce.
func (w *NNWorker) snapshotTaken(now unit.Tick, out *Outputs) {
	w.averaged.round = waiting
	out.record(w.event(now, event.SnapshotTaken, w.averaged.rounds))
	for i, bytes := range w.cfg.Buckets {
		round := w.averaged.rounds
		out.feed(Contribution{
			Rank: w.rank, Step: round, Bucket: int32(i), Bytes: bytes,
			Source: w.handle(ReplicaCopy, round), Sum: w.handle(ReplicaSum, round),
		})
	}
}

// meanFolded ends the round.
func (w *NNWorker) meanFolded(now unit.Tick, out *Outputs) {
	out.record(w.event(now, event.Averaged, w.averaged.rounds))
	out.release(ReplicaCopy, w.rank, w.averaged.rounds)
	out.release(ReplicaSum, w.rank, w.averaged.rounds)
	w.averaged = averaged{rounds: w.averaged.rounds + 1}
}

func (a *averaged) append(dst []byte) []byte {
	return append(appendInts(dst, a.rounds, a.gathered), byte(a.round))
}
