package cluster

import (
	"fmt"
	"slices"

	"tandem/algo/job"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/cost"
	"tandem/sim/fabric"
	"tandem/sim/topo"
)

// checkRowsOnGPU returns an error if a run cannot have rows on the accelerators of its ranks.
func checkRowsOnGPU(h *cost.Hardware, t *job.Job, numerics bool) error {
	switch {
	case !t.HasRowsOnGPU():
	case t.HasTiers():
		return fmt.Errorf("cluster: %w", cost.ErrTiers)
	case numerics:
		return fmt.Errorf("cluster: %s: a simulated training computes on processors: set it to %s, or train "+
			"with cmd/train", t.GPUSetting(), job.RowsOnPSs)
	case h.Colocated():
		return fmt.Errorf("cluster: %s needs the profile of an accelerator, and the measured machine has "+
			"none: choose another cluster, or set it to %s", t.GPUSetting(), job.RowsOnPSs)
	}
	return nil
}

// rowExchanges are the exchanges of rows between ranks that have them together.
type rowExchanges struct {
	plans   map[unit.Bytes]topo.Plan
	waiting []int32    // tasks of the ranks that have come to the next exchange
	most    unit.Bytes // that one of these sends, as the fullest rank receives it
	after   unit.Tick  // the time of the hosts before the first byte
	sent    unit.Bytes // so far, the parts for the senders themselves included
}

// The stages of a forward pass with rows on accelerators: of a rank alone, and of several.
const (
	aloneLaunch int32 = iota
	aloneCopy
	aloneCompute
	aloneStages
)
const (
	findLaunch int32 = iota
	findCopy
	findRows
	exchangeSigns
	answerLaunch
	answerRows
	exchangeValues
	poolLaunch
	poolRows // and the pass of the dense network
	sharedStages
)

// forwardStages returns the number of stages of a forward pass.
func (w *simulation) forwardStages() int32 {
	switch t := w.prices.Job; {
	case t.SharesRowsOnGPUs():
		return sharedStages
	case t.HasRowsOnGPU():
		return aloneStages
	}
	return 2
}

// forwardWithRows begins the current stage of a forward pass with rows on accelerators.
func (w *simulation) forwardWithRows(i int32) {
	t := &w.tasks[i]
	b := w.prices.BatchOn(w.places[t.role].device, t.work.Samples)
	rows := b.Rows
	if !w.prices.Job.SharesRowsOnGPUs() {
		switch t.stage {
		case aloneLaunch:
			w.launchFor(i, rows.Find.Host+b.ForwardHost)
		case aloneCopy:
			w.copyStaged(i, rows.Staged)
		case aloneCompute:
			w.compute(i, rows.Find.Kernels+b.Forward)
		}
		return
	}
	switch t.stage {
	case findLaunch:
		w.launchFor(i, rows.Find.Host)
	case findCopy:
		w.copyStaged(i, rows.Staged)
	case findRows:
		w.compute(i, rows.Find.Kernels)
	case exchangeSigns:
		w.joinExchange(i, rows.Signs, rows.Fullest, rows.BeforeSigns)
	case answerLaunch:
		w.launchFor(i, rows.Answer.Host)
	case answerRows:
		w.compute(i, rows.Answer.Kernels)
	case exchangeValues:
		w.joinExchange(i, rows.Values, rows.Fullest, rows.BeforeValues)
	case poolLaunch:
		w.launchFor(i, rows.Pool.Host+b.ForwardHost)
	case poolRows:
		w.compute(i, rows.Pool.Kernels+b.Forward)
	}
}

// launchFor takes time of the host thread of a rank.
func (w *simulation) launchFor(i int32, takes unit.Tick) {
	work := w.tasks[i].work
	jitter := w.launchJitter(work)
	w.serve(i, &w.accelerators[work.Rank].launcher, launcher,
		w.rates.time(launcher, takes).Scale(jitter*w.slowness(work)), jitter)
}

// copyStaged copies what the host of a rank has staged to its accelerator.
func (w *simulation) copyStaged(i int32, bytes unit.Bytes) {
	work := w.tasks[i].work
	jitter := w.launchJitter(work)
	w.serve(i, &w.accelerators[work.Rank].copyIn, copyEngines, w.copyTime(bytes, jitter), jitter)
}

// joinExchange has a rank come to an exchange in which it sends some bytes, and receives fullest times as
// many if it owns most rows. The exchange begins with the last rank, after some time of the hosts, and ends
// for all at once.
func (w *simulation) joinExchange(i int32, bytes unit.Bytes, fullest float64, after unit.Tick) {
	x := &w.rowExchanges
	w.tasks[i].activities++
	x.waiting = append(x.waiting, i)
	x.expect(bytes, fullest, after)
	if len(x.waiting) < int(w.config.Ranks) {
		return
	}
	w.cause = w.traces[i].path
	work := role.Work{Rank: -1, Step: w.tasks[i].work.Step}
	w.proceed(w.openTask(task{kind: exchangingRows, role: -1, work: work}))
}

// expect adds what a rank sends.
func (x *rowExchanges) expect(bytes unit.Bytes, fullest float64, after unit.Tick) {
	x.most = max(x.most, unit.Bytes(float64(bytes)*fullest))
	x.after = max(x.after, after)
	x.sent += bytes
}

// exchangeStage begins the present stage of an exchange and reports whether it was the last.
func (w *simulation) exchangeStage(i int32) (ended bool) {
	if w.tasks[i].stage < exchangeStages {
		w.moveRows(i, w.tasks[i].stage)
		return false
	}
	waiting := slices.Clone(w.rowExchanges.waiting)
	w.rowExchanges.waiting, w.rowExchanges.most, w.rowExchanges.after = w.rowExchanges.waiting[:0], 0, 0
	for _, rank := range waiting {
		w.traces[rank].path, w.traces[rank].until = w.traces[i].path, w.clock.Now()
		w.tasks[rank].activities--
	}
	w.closeTask(i)
	for _, rank := range waiting {
		w.proceed(rank)
	}
	return true
}

// exchangeStages is the number of stages of moveRows: waits of the hosts, the latency, and the bytes.
const exchangeStages = 3

// moveRows begins a stage of moving what the ranks have come to exchange.
func (w *simulation) moveRows(i, stage int32) {
	plan, now := w.exchangePlan(w.rowExchanges.most), w.clock.Now()
	on := insideWire
	if w.reduce.across != nil {
		on = latency
	}
	switch stage {
	case 0:
		takes := w.rates.time(launcher, w.rowExchanges.after)
		w.waitUntil(i, now+takes.Scale(w.reduceJitter(w.tasks[i].work.Step, -1)), launcher)
	case 1:
		w.waitUntil(i, now+w.rates.time(on, plan.Stages[0].Latency), on)
	case 2:
		var inside []fabric.Flow
		for _, f := range plan.Stages[0].Flows {
			if w.staysInside(&f) {
				inside = append(inside, f)
			} else {
				w.transfer(i, f.Bytes, f.Path)
			}
		}
		alone := topo.Plan{Stages: []topo.Stage{{Flows: inside}}}
		w.waitUntil(i, now+w.rates.time(insideWire, w.graph.Alone(&alone)), insideWire)
	}
}

// staysInside reports whether a flow leaves no server.
func (w *simulation) staysInside(f *fabric.Flow) bool {
	return !slices.ContainsFunc(f.Path, func(h fabric.Hop) bool { return !w.graph.InsideNode(h.Link) })
}

// exchangePlan returns how ranks that each have some bytes for all ranks together exchange them: each sends
// to every other, at the shares of the wires that the system's all-to-all reaches.
func (w *simulation) exchangePlan(bytes unit.Bytes) *topo.Plan {
	plan, known := w.rowExchanges.plans[bytes]
	if !known {
		c := &w.prices.System.Collectives
		inside, across := &c.Inside, &c.Network
		var err error
		plan, err = w.graph.World().AllToAll(bytes, &topo.Pricing{
			Algorithm: topo.Pairwise, Inside: inside.Wire(inside.AllToAll.Mid),
			Across: across.Wire(across.AllToAll.Mid),
		})
		if err != nil {
			panic(err) // the algorithm and the number of bytes are right
		}
		if w.rowExchanges.plans == nil {
			w.rowExchanges.plans = map[unit.Bytes]topo.Plan{}
		}
		w.rowExchanges.plans[bytes] = plan
	}
	return &plan
}

// The stages of the update of the rows of all ranks, which is the last bucket of the all-reduce.
const (
	sumLaunch int32 = iota
	sumRows
	exchangeSums
	updateLaunch = exchangeSums + exchangeStages
	updateRows   = updateLaunch + 1
	updateStages = updateRows + 1
)

// isRows reports whether a bucket of the all-reduce is the update of rows that ranks have together.
func (w *simulation) isRows(bucket int32) bool {
	return w.prices.Job.SharesRowsOnGPUs() && int(bucket) == len(w.ends)
}

// updateStage begins a stage of the update of the rows, in which all ranks take part. No rank has other
// kernels then: all have ended their backward passes, and wait for the update.
func (w *simulation) updateStage(i, stage int32) {
	samples := w.stepSamples(w.tasks[i].work.Step)
	rows := func(rank int32) *cost.GPURows {
		at := w.places[w.roleOfRank(rank)]
		return w.prices.BatchOn(at.device, w.prices.Samples(int(rank), samples)).Rows
	}
	switch stage {
	case sumLaunch:
		w.serveAll(i, launcher, func(rank int32) unit.Tick { return rows(rank).Sum.Host })
	case sumRows:
		w.serveAll(i, kernels, func(rank int32) unit.Tick { return rows(rank).Sum.Kernels })
	case updateLaunch:
		w.serveAll(i, launcher, func(rank int32) unit.Tick { return rows(rank).Update.Host })
	case updateRows:
		w.serveAll(i, kernels, func(rank int32) unit.Tick { return rows(rank).Update.Kernels })
		w.rowExchanges.most, w.rowExchanges.after = 0, 0
	default:
		if stage == exchangeSums {
			for rank := range w.config.Ranks {
				x := rows(rank)
				w.rowExchanges.expect(x.Values, x.Fullest, x.BeforeSums)
			}
		}
		w.moveRows(i, stage-exchangeSums)
	}
}

// serveAll has the host threads or the accelerators of all ranks work for a stage of a task, which ends with
// the last of them.
func (w *simulation) serveAll(i int32, on resource, takes func(rank int32) unit.Tick) {
	now, last := w.clock.Now(), w.clock.Now()
	for rank := range w.config.Ranks {
		work := role.Work{Kind: role.Apply, Rank: rank, Step: w.tasks[i].work.Step}
		at, jitter := &w.accelerators[rank].kernels, w.kernelJitter(work)
		if on == launcher {
			at, jitter = &w.accelerators[rank].launcher, w.launchJitter(work)
		}
		start, end := at.Run(now, w.rates.time(on, takes(rank)).Scale(jitter*w.slowness(work)))
		w.recorder.serial(w, at, i, start, end)
		last = max(last, end)
	}
	w.waitUntil(i, last, on)
}
