package cluster

import (
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// startReduction begins the all-reduce of a bucket that every rank has handed over, or queues it behind that
// of the bucket before.
func (w *simulation) startReduction(step, bucket int32, bytes unit.Bytes) {
	w.reducing++
	i := w.openTask(task{kind: reducing, role: -1, work: role.Work{Step: step}, bucket: bucket, bytes: bytes})
	w.recorder.queue(w, i)
	if w.reductions.Push(w.clock.Now(), i) {
		w.recorder.begin(w, w.reductions, i)
		w.proceed(i)
	}
}

// reduceStage begins the present stage of an all-reduce and reports whether it was the last. The first takes
// what is inside the servers and all latencies, the second moves the bucket over the cards of all servers at
// once.
func (w *simulation) reduceStage(i int32) (ended bool) {
	t := &w.tasks[i]
	now := w.clock.Now()
	if w.isRows(t.bucket) {
		if t.stage < updateStages {
			w.updateStage(i, t.stage)
			return false
		}
		w.reduceDone(i)
		return true
	}
	switch t.stage {
	case 0:
		if w.chargeRecordedReduction(i) {
			return false
		}
		jitter := w.reduceJitter(t.work.Step, t.bucket)
		inside := w.rates.time(insideWire, w.reduceInside(t.bytes)).Scale(jitter)
		across := w.rates.time(latency, w.reduceLatency()).Scale(jitter)
		w.waitUntil(i, now+inside+across, insideWire)
		w.traces[i].alsoOn(latency, float64(across)/float64(max(1, inside+across)))
	case 1:
		if len(w.reduce.across) == 0 {
			return false
		}
		w.transfer(i, t.bytes, w.reduce.across)
	case 2:
		w.reduceDone(i)
		return true
	}
	return false
}

// reduceDone gives every rank the bucket and begins the next reduction.
func (w *simulation) reduceDone(i int32) {
	step, bucket, now := w.tasks[i].work.Step, w.tasks[i].bucket, w.clock.Now()
	w.cause = w.traces[i].path
	w.recorder.end(w, i)
	w.closeTask(i)
	if w.numerics != nil {
		w.numerics.Reduce(step, bucket)
	}
	w.reducing--
	w.reductions.End(now, i)
	w.reductions.Leave()
	if next, ok := w.reductions.Next(now); ok {
		w.beginTrace(next)
		w.recorder.begin(w, w.reductions, next)
		w.proceed(next)
	}
	for rank := range w.config.Ranks {
		to := w.roleOfRank(rank)
		if !w.instances[to].away {
			w.recorder.reduced(w, step, to)
			w.handleInput(to, bucketReduced(rank, step, bucket))
		}
	}
}

func bucketReduced(rank, step, bucket int32) role.Input {
	return role.Input{Kind: role.BucketReduced, Work: role.Work{Rank: rank, Step: step}, Bucket: bucket}
}
