package cluster

import (
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/device"
)

// perform begins the present stage of work, and reports whether it was the
// last. Work has one stage, but Backward one for every bucket.
func (w *world) perform(i int32) (ended bool) {
	t := &w.tasks[i]
	if t.stage == 0 {
		w.startNumbers(t)
	}
	stages := int32(1)
	if t.work.Kind == role.Backward {
		stages = int32(len(w.config.Buckets))
		if t.stage > 0 {
			if w.numbers != nil {
				t.numbers() // the bucket is summed by whoever gets it
			}
			w.step(t.role, role.Input{Kind: role.WorkPart, Work: t.work, Bucket: t.stage - 1})
			t = &w.tasks[i] // the step may have opened tasks
		}
	}
	if t.stage == stages {
		w.complete(i)
		return true
	}
	w.begin(i, t.work)
	return false
}

// begin charges work to what it runs on.
func (w *world) begin(i int32, work role.Work) {
	if w.beginRecorded(i, work) {
		return
	}
	t := &w.tasks[i]
	at := &w.places[t.role]
	host := func(c device.HostCost) { w.charge(i, at.host, c, at.width, float64(at.members)*at.stripe) }
	p := w.prices
	switch work.Kind {
	case role.Read:
		host(p.read(w.stepSamples(work.Step)))
	case role.ApplyStep:
		host(p.applyStep(w.stepSamples(work.Step), w.putRows(w.instances[t.role].at.Index, t.operands.Reads)))
	case role.Split:
		host(p.batch(work.Samples).split)
	case role.ReadRows:
		host(p.readRows(w.memberRows(w.instances[t.role].at.Index, work)))
	case role.Pool:
		host(p.batch(work.Samples).pool)
	case role.Merge:
		host(p.merge(work.Samples, w.distinctRows(work)))
	case role.Apply:
		host(p.apply(w.memberRows(w.instances[t.role].at.Index, work)))
	case role.Forward:
		w.compute(i, times(p.batch(work.Samples).forward, w.slowdown(work)))
	case role.Backward:
		w.backward(i, times(p.batch(work.Samples).backward, w.slowdown(work)))
	case role.ReadDense:
		host(p.parameterHost.CopyCost(w.config.DenseServers[w.instances[t.role].at.Index]))
	case role.ApplyPush:
		host(p.applyPush(w.config.DenseServers[w.instances[t.role].at.Index], len(t.operands.Reads)))
	case role.Snapshot:
		w.compute(i, p.device.Time(p.sweep(2))) // read, written
	case role.Average:
		w.compute(i, p.device.Time(p.sweep(4))) // parameters read and written, mean and copy read
	case role.DenseApply:
		if w.sharesReplica(work) {
			w.wait(i, w.clock.Now())
			return
		}
		w.compute(i, p.batch(work.Samples).update)
	}
}

// backward runs the part of a backward pass, of so much in total, that makes the
// bucket of the task's stage final.
func (w *world) backward(i int32, total unit.Tick) {
	t := &w.tasks[i]
	if t.stage == 0 {
		t.total = total
	}
	end := times(t.total, w.ends[t.stage])
	takes := end - t.spent
	t.spent = end
	w.compute(i, takes)
}

// compute runs kernels on a rank's accelerator, or, where the host is the
// accelerator, on one of its cores.
func (w *world) compute(i int32, takes unit.Tick) {
	t := &w.tasks[i]
	if w.prices.colocated() {
		w.charge(i, w.places[t.role].host, device.HostCost{Core: takes}, 1, 1)
		return
	}
	_, end := w.ranks[t.work.Rank].kernels.Run(w.clock.Now(), takes)
	w.wait(i, end)
}

// complete hands the result of work to its role and begins the next of the
// lane, unless the role has crashed since.
func (w *world) complete(i int32) {
	t := &w.tasks[i]
	r, work, makes := t.role, t.work, t.operands.Makes
	if t.of != w.instances[r].incarnation {
		w.close(i)
		return
	}
	result, err := w.outcome(t)
	lane := w.instances[r].lanes.Lane(work.Kind)
	lane.Pop()
	w.close(i)
	if lane.Len() > 0 {
		w.proceed(lane.Front())
	}
	in := role.Input{Kind: role.WorkDone, Work: work, Result: result}
	if err != nil {
		in = role.Input{Kind: role.WorkFailed, Work: work, Reason: err}
	}
	if w.audit != nil {
		for _, h := range makes {
			w.audit.holds(r, h)
		}
	}
	w.step(r, in)
}

// result makes up what a role learns of work that nobody did.
func (w *world) result(work role.Work) role.Result {
	switch work.Kind {
	case role.Read:
		var r role.Result
		for rank := range int(w.config.Ranks) {
			b := w.prices.batch(w.prices.samples(rank, w.prices.training.Training.GlobalBatch))
			r.Samples = append(r.Samples, b.samples)
			r.IDBytes = append(r.IDBytes, b.idBytes)
			r.SampleBytes = append(r.SampleBytes, b.sampleBytes)
		}
		return r
	case role.Split:
		return w.prices.batch(work.Samples).routed
	case role.ReadRows:
		return role.Result{Bytes: w.prices.batch(work.Samples).routed.ValueBytes[0]}
	case role.Pool, role.Backward:
		return role.Result{Bytes: w.prices.batch(work.Samples).pooledBytes}
	}
	return role.Result{}
}
