package cluster

import (
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/device"
)

// workStage begins the current stage of work and reports whether the work has ended. Backward has one stage
// per bucket, other work has one stage.
func (w *simulation) workStage(i int32) (ended bool) {
	t := &w.tasks[i]
	if t.stage == 0 {
		w.startNumerics(t)
	}
	stages := int32(1)
	if t.work.Kind == role.Backward {
		stages = int32(len(w.config.Buckets))
		if t.stage > 0 {
			if w.numerics != nil {
				t.await() // the bucket is summed by whoever gets it
			}
			w.handleInput(t.role, role.Input{Kind: role.WorkPart, Work: t.work, Bucket: t.stage - 1})
			t = &w.tasks[i] // the step may have opened tasks
		}
	}
	if t.stage == stages {
		w.completeWork(i)
		return true
	}
	w.chargeWork(i, t.work)
	return false
}

// chargeWork charges work to the resource on which it runs.
func (w *simulation) chargeWork(i int32, work role.Work) {
	if w.chargeRecorded(i, work) {
		return
	}
	t := &w.tasks[i]
	at := &w.places[t.role]
	host := func(c device.HostCost) { w.charge(i, at.host, c, at.width, float64(at.instancesHere)*at.stripe) }
	p := w.prices
	switch work.Kind {
	case role.Read:
		host(p.ReadBatch(w.stepSamples(work.Step)))
	case role.ApplyStep:
		host(p.ApplyStep(w.stepSamples(work.Step), w.putRows(w.instances[t.role].at.Index, t.operands.Reads)))
	case role.Split:
		host(p.Batch(work.Samples).Split)
	case role.ReadRows:
		host(p.ReadRows(w.rowsOnPS(w.instances[t.role].at.Index, work)))
	case role.Pool:
		host(p.Batch(work.Samples).Pool)
	case role.Merge:
		host(p.Merge(work.Samples, w.distinctRows(work)))
	case role.Apply:
		host(p.Apply(w.rowsOnPS(w.instances[t.role].at.Index, work)))
	case role.Forward:
		w.compute(i, p.Batch(work.Samples).Forward.Scale(w.jitter(work)))
	case role.Backward:
		w.backward(i, p.Batch(work.Samples).Backward.Scale(w.jitter(work)))
	case role.ReadDense:
		host(p.PSHost.CopyCost(w.config.DensePSs[w.instances[t.role].at.Index]))
	case role.ApplyPush:
		host(p.ApplyPush(w.config.DensePSs[w.instances[t.role].at.Index], len(t.operands.Reads)))
	case role.Snapshot:
		w.compute(i, p.SweepTime(2)) // read, written
	case role.Average:
		w.compute(i, p.SweepTime(4)) // parameters read and written, mean and copy read
	case role.DenseApply:
		if w.sharesReplica(work) {
			w.waitUntil(i, w.clock.Now())
			return
		}
		w.compute(i, p.Batch(work.Samples).Update)
	}
}

// backward runs the part of a backward pass that makes the bucket of the task's stage final. Total is the
// time of the whole pass.
func (w *simulation) backward(i int32, total unit.Tick) {
	t := &w.tasks[i]
	if t.stage == 0 {
		t.total = total
	}
	end := t.total.Scale(w.ends[t.stage])
	takes := end - t.spent
	t.spent = end
	w.compute(i, takes)
}

// compute runs kernels on a rank's accelerator or, on a measured machine, on one of its cores.
func (w *simulation) compute(i int32, takes unit.Tick) {
	t := &w.tasks[i]
	if w.prices.Colocated() {
		w.charge(i, w.places[t.role].host, device.HostCost{Core: takes}, 1, 1)
		return
	}
	_, end := w.accelerators[t.work.Rank].kernels.Run(w.clock.Now(), takes)
	w.waitUntil(i, end)
}

// completeWork passes the result of work to its role and begins the next work of the lane, unless the role
// has crashed since.
func (w *simulation) completeWork(i int32) {
	t := &w.tasks[i]
	r, work, makes := t.role, t.work, t.operands.Makes
	if t.incarnation != w.instances[r].incarnation {
		w.closeTask(i)
		return
	}
	result, err := w.await(t)
	lane := w.instances[r].lanes.Lane(work.Kind)
	lane.Pop()
	w.closeTask(i)
	if lane.Len() > 0 {
		w.proceed(lane.Front())
	}
	in := role.Input{Kind: role.WorkDone, Work: work, Result: result}
	if err != nil {
		in = role.Input{Kind: role.WorkFailed, Work: work, Reason: err}
	}
	if w.contract != nil {
		for _, h := range makes {
			w.contract.addHeld(r, h)
		}
	}
	w.handleInput(r, in)
}

// expectedResult returns the result of work in a run without numerics.
func (w *simulation) expectedResult(work role.Work) role.Result {
	switch work.Kind {
	case role.Read:
		var r role.Result
		for rank := range int(w.config.Ranks) {
			b := w.prices.Batch(w.prices.Samples(rank, w.prices.Job.Training.GlobalBatch))
			r.Samples = append(r.Samples, b.Samples)
			r.IDBytes = append(r.IDBytes, b.IDBytes)
			r.SampleBytes = append(r.SampleBytes, b.SampleBytes)
		}
		return r
	case role.Split:
		return w.prices.Batch(work.Samples).Routed
	case role.ReadRows:
		return role.Result{Bytes: w.prices.Batch(work.Samples).Routed.ValueBytes[0]}
	case role.Pool, role.Backward:
		return role.Result{Bytes: w.prices.Batch(work.Samples).PooledBytes}
	}
	return role.Result{}
}
