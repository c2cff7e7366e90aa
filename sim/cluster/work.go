package cluster

import (
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/device"
	"tandem/sim/station"
)

// workStage begins the current stage of work and reports whether the work has ended. Passes of the network
// have a stage on the host before those on the accelerator, of which Backward has one per bucket. Other work
// has one stage.
func (w *simulation) workStage(i int32) (ended bool) {
	t := &w.tasks[i]
	if first, _ := w.laneOf(t).First(); t.stage == 0 && first == i {
		w.startNumerics(t)
	}
	stages := int32(1)
	switch t.work.Kind {
	case role.Forward:
		stages = w.forwardStages()
	case role.Backward:
		stages = 1 + int32(len(w.config.Buckets))
		if t.stage > 1 && t.incarnation == w.instances[t.role].incarnation {
			if w.numerics != nil {
				t.await() // the bucket is summed by whoever gets it
			}
			w.cause = w.traces[i].path
			w.handleInput(t.role, role.Input{Kind: role.WorkPart, Work: t.work, Bucket: t.stage - 2})
			t = &w.tasks[i] // the step may have opened tasks
		}
	}
	switch {
	case t.stage == stages:
		w.completeWork(i)
		return true
	case t.work.Kind == role.Forward && w.prices.Job.HasRowsOnGPU():
		w.forwardWithRows(i)
	case t.stage == 0 && stages > 1:
		w.launch(i)
	default:
		w.chargeWork(i, t.work)
	}
	return false
}

// launch takes the time in which the host thread of a rank launches the kernels of a pass.
func (w *simulation) launch(i int32) {
	work := w.tasks[i].work
	b := w.prices.Batch(work.Samples)
	takes := b.ForwardHost
	if work.Kind == role.Backward {
		takes = b.BackwardHost
		if b.Rows != nil {
			takes += b.Rows.Columns.Host
		}
		if b.Rows != nil && !w.prices.Job.SharesRowsOnGPUs() {
			takes += b.Rows.Update.Host
		}
	}
	if takes > 0 {
		w.launchFor(i, takes)
	}
}

// chargeWork charges work to the resource on which it runs.
func (w *simulation) chargeWork(i int32, work role.Work) {
	if w.chargeRecorded(i, work) {
		return
	}
	t := &w.tasks[i]
	at := &w.places[t.role]
	jitter := w.workJitter(t.role, work)
	host := func(c device.HostCost) {
		w.charge(i, at.host, c.Scale(jitter), at.service.Width, float64(at.instancesHere)*at.stripe,
			w.fold.shareOf(at, work.Rank, jitter, at.threads))
	}
	p := w.prices
	switch work.Kind {
	case role.Read:
		host(p.ReadBatch(w.stepSamples(work.Step)))
	case role.ApplyStep:
		host(p.ApplyStep(w.stepSamples(work.Step), w.putRows(w.instances[t.role].at.Index, t.operands.Reads)))
	case role.Split:
		host(p.Batch(work.Samples).Split)
	case role.ReadRows:
		rows := w.rowsOnPS(w.instances[t.role].at.Index, work)
		host(p.ReadRows(rows, work.Samples).Add(p.CreateRows(rows, work.Samples)))
	case role.Pool:
		host(p.Batch(work.Samples).Pool)
	case role.Merge:
		host(p.Merge(work.Samples, w.distinctRows(work)))
	case role.Apply:
		host(p.Apply(w.rowsOnPS(w.instances[t.role].at.Index, work), work.Samples))
	case role.Forward:
		b := p.BatchOn(at.device, work.Samples)
		w.compute(i, b.Forward+b.HotForward)
	case role.Backward:
		b := p.BatchOn(at.device, work.Samples)
		more := b.HotBackward
		if b.Rows != nil {
			more = b.Rows.Columns.Kernels
		}
		if b.Rows != nil && !p.Job.SharesRowsOnGPUs() {
			more += b.Rows.Update.Kernels
		}
		w.backward(i, b.Backward, more)
	case role.ReadDense:
		host(p.PSHost.CopyCost(w.config.DensePSs[w.instances[t.role].at.Index]))
	case role.ApplyPush:
		host(p.ApplyPush(w.config.DensePSs[w.instances[t.role].at.Index], len(t.operands.Reads)))
	case role.Snapshot:
		w.compute(i, p.SweepTime(at.device, 2)) // read, written
	case role.Average:
		w.compute(i, p.SweepTime(at.device, 4)) // parameters read and written, mean and copy read
	case role.DenseApply:
		if w.sharesReplica(work) {
			w.waitUntil(i, w.clock.Now(), passing)
			return
		}
		w.compute(i, p.BatchOn(at.device, work.Samples).Update+
			p.HotUpdate(at.device, w.stepSamples(work.Step)))
	}
}

// backward runs the part of a backward pass that makes the bucket of the task's stage final. Total is the
// time of the whole pass of the dense network, whose buckets come first, and rows that of rows which the rank
// has: they are in the bucket behind these or, if there is none, in the last.
func (w *simulation) backward(i int32, total, rows unit.Tick) {
	t := &w.tasks[i]
	if t.stage == 1 {
		t.total = total
	}
	if int(t.stage) > len(w.ends) {
		w.compute(i, rows)
		return
	}
	end := t.total.Scale(w.ends[t.stage-1])
	takes := end - t.spent
	t.spent = end
	if int(t.stage) == len(w.config.Buckets) {
		takes += rows
	}
	w.compute(i, takes)
}

// compute runs kernels on a rank's accelerator or, on a measured machine, on one of its cores.
func (w *simulation) compute(i int32, takes unit.Tick) {
	t := &w.tasks[i]
	jitter := w.kernelJitter(t.work)
	takes = takes.Scale(jitter)
	if w.prices.Colocated() {
		w.charge(i, w.places[t.role].host, device.HostCost{Core: takes}, 1, 1, whole)
		return
	}
	takes = takes.Scale(w.interference() * w.slowness(t.work))
	w.serve(i, &w.accelerators[t.work.Rank].kernels, kernels, w.rates.time(kernels, takes), jitter)
}

// serve has a station of a rank that does one thing at a time work for the stage of a task. The time has a
// random factor.
func (w *simulation) serve(i int32, at *station.Serial, on resource, takes unit.Tick, factor float64) {
	rank := w.tasks[i].work.Rank
	if w.tasks[i].kind == delivering {
		rank = w.tasks[i].message.Rank
	}
	start, end := at.RunFor(w.clock.Now(), takes, w.fold.busyShare(rank, factor))
	w.recorder.serial(w, at, i, start, end)
	w.waitUntil(i, end, on)
}

// interference returns the factor on the time of a kernel that begins now: all-reduces of several ranks, also
// those of averages in the background, take a share of every accelerator's speed.
func (w *simulation) interference() float64 {
	if w.reductions.Len() == 0 || w.config.Ranks == 1 {
		return 1
	}
	return 1 / (1 - w.prices.System.NNWorker.InterferenceShare())
}

// laneOf returns the lane of a piece of work.
func (w *simulation) laneOf(t *task) *station.Lane {
	return w.instances[t.role].lanes[t.work.Kind.Lane()]
}

// completeWork ends the service of work, begins the next work of the lane, and passes the results that are
// due to the role: work of a lane takes effect in the order of its issue. Nothing comes of work whose role
// has crashed since.
func (w *simulation) completeWork(i int32) {
	t := &w.tasks[i]
	if t.incarnation != w.instances[t.role].incarnation {
		w.closeTask(i)
		return
	}
	lane, now, threads := w.laneOf(t), w.clock.Now(), w.threadsOf(t.role, w.instances[t.role].at.Role)
	w.cause = w.traces[i].path
	lane.End(now, i)
	w.recorder.end(w, i)
	for next, ok := lane.Next(now); ok; next, ok = lane.Next(now) {
		w.beginTrace(next)
		w.traces[next].threads = threads
		w.recorder.begin(w, lane, next)
		w.proceed(next)
	}
	for done, ok := lane.Leave(); ok; done, ok = lane.Leave() {
		w.passResult(done, lane)
	}
}

// passResult passes the result of work that has left its lane to its role. The numbers of the next piece
// begin before: it is first in the order now.
func (w *simulation) passResult(i int32, lane *station.Lane) {
	t := &w.tasks[i]
	r, work, makes := t.role, t.work, t.operands.Makes
	result, err := w.await(t)
	w.closeTask(i)
	if first, ok := lane.First(); ok {
		w.startNumerics(&w.tasks[first])
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
			b := w.prices.Batch(w.prices.Samples(int(w.fold.member(int32(rank), 0)),
				w.prices.Job.Training.GlobalBatch))
			r.Samples = append(r.Samples, b.Samples)
			r.IDBytes = append(r.IDBytes, b.IDBytes)
			r.SampleBytes = append(r.SampleBytes, b.SampleBytes)
		}
		return r
	case role.Split:
		return w.prices.Batch(work.Samples).Routed
	case role.ReadRows:
		return role.Result{Bytes: w.prices.Batch(work.Samples).Routed.ValueBytes[0]}
	case role.Pool:
		return role.Result{Bytes: w.prices.Batch(work.Samples).EmbeddingBytes}
	case role.Backward:
		return role.Result{Bytes: w.prices.Batch(work.Samples).GradientBytes}
	}
	return role.Result{}
}
