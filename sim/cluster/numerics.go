package cluster

import (
	"tandem/algo/exec"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

// Numerics holds the samples, rows, parameters and gradients of a run: the simulator decides when, Numerics
// computes what. A run without numerics only takes time. Everything happens in simulated order, independent
// of the machine below:
//
//   - A copy of rows, of a dense PS's shard or of a replica is taken at the start of its service (Do).
//   - An update of rows or parameters is done at the end of its service (Do), before anything else that
//     happens at that instant or later.
//   - Other work changes nothing that anybody else can see. It may be done on any core from the start of its
//     service on (Start), and the simulator waits for it only when its effect is next: at its end, or at its
//     first bucket.
//
// So the bits of a run depend on neither the number of cores nor their speed. All methods are called by one
// goroutine.
type Numerics interface {
	// Steps returns the number of global batches of the run, and Samples the true size of one.
	Steps() int
	Samples(step int) int
	// Do performs work of a role on what the role holds.
	Do(at msg.Address, w role.Work, o role.Operands) (role.Result, error)
	// Start is Do at any time from now on. wait returns when it is done, and may be called more than once.
	Start(at msg.Address, w role.Work, o role.Operands) (wait func() (role.Result, error))
	// Payload returns the data of a message out of what its sender holds as h.
	Payload(m msg.Message, h role.Handle) exec.Payload
	// Keep has the receiver of a message hold the data as h.
	Keep(m msg.Message, h role.Handle, payload exec.Payload)
	// Feed notes what a rank hands to the all-reduce.
	Feed(at msg.Address, c role.Contribution)
	// Release frees data that a role holds, exactly once.
	Release(at msg.Address, h role.Handle)
	// Crash frees all data that a role holds. It does not wait for running work of the role, whose output is
	// freed too.
	Crash(at msg.Address)
	// Reduce sums a bucket of the dense gradients of a step over all ranks.
	Reduce(step, bucket int32)
}

// updates reports whether work of a kind changes what other work reads.
func updates(k role.WorkKind) bool {
	switch k {
	case role.Apply, role.ApplyStep, role.DenseApply, role.ApplyPush, role.Average:
		return true
	}
	return false
}

// copies reports whether work of a kind copies what other work updates.
func copies(k role.WorkKind) bool {
	return k == role.ReadRows || k == role.ReadDense || k == role.Snapshot
}

// startNumerics begins the numbers of work at the start of its service.
func (w *simulation) startNumerics(t *task) {
	n, at, k, o := w.numerics, w.instances[t.role].at, t.work, t.operands
	switch {
	case n == nil:
	case updates(k.Kind):
		t.await = func() (role.Result, error) { return n.Do(at, k, o) }
	case copies(k.Kind):
		r, err := n.Do(at, k, o)
		t.await = func() (role.Result, error) { return r, err }
	default:
		t.await = n.Start(at, k, o)
	}
}

// await returns the result of work at the end of its service.
func (w *simulation) await(t *task) (role.Result, error) {
	if w.numerics == nil {
		return w.expectedResult(t.work), nil
	}
	r, err := t.await()
	if err == nil && t.work.Kind == role.Split {
		w.rows[w.batchIndex(t.work.Rank, t.work.Step)] = r.Rows
	}
	return r, err
}

// batchIndex numbers the batches of all ranks.
func (w *simulation) batchIndex(rank, step int32) int { return int(rank*w.config.Steps + step) }

// rowsOnPS returns the distinct rows of a batch on a PS: the true number where it is known, else what is
// expected.
func (w *simulation) rowsOnPS(server int32, k role.Work) float64 {
	if w.numerics == nil {
		return w.prices.Batch(k.Samples).HottestRows
	}
	return float64(w.rows[w.batchIndex(k.Rank, k.Step)][server])
}

// distinctRows returns the rows of the batch on all PSs: the real number where it is known, else the expected
// one.
func (w *simulation) distinctRows(k role.Work) float64 {
	if w.numerics == nil {
		return w.prices.Batch(k.Samples).DistinctRows
	}
	sum := 0.0
	for _, rows := range w.rows[w.batchIndex(k.Rank, k.Step)] {
		sum += float64(rows)
	}
	return sum
}

// putRows returns the rows of every put that is applied together on a PS.
func (w *simulation) putRows(server int32, puts []role.Handle) []float64 {
	list := make([]float64, 0, len(puts))
	for _, put := range puts {
		samples := w.prices.Samples(int(w.fold.member(put.Rank, 0)), w.stepSamples(put.Step))
		rows := w.rowsOnPS(server, role.Work{Rank: put.Rank, Step: put.Step, Samples: samples})
		for range int(w.fold.size(put.Rank)) {
			list = append(list, rows)
		}
	}
	return list
}

// stepSamples is the size of a global batch.
func (w *simulation) stepSamples(step int32) int {
	if w.numerics == nil {
		return w.prices.Job.Training.GlobalBatch
	}
	return w.numerics.Samples(int(step))
}

// forgetBatch drops the row counts of a finished batch. If its gradients may still wait on a PS, or a lookup
// may still come, they are kept until the run ends.
func (w *simulation) forgetBatch(r event.Record) {
	if w.numerics == nil || r.Kind != event.BatchDone {
		return
	}
	if d := w.config.Rule.Dense(); !d.Buffered && d.Quorum == 0 {
		w.rows[w.batchIndex(r.Rank, r.Step)] = nil
	}
}
