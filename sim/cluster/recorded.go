package cluster

import (
	"tandem/algo/protocol/role"
	"tandem/sim/device"
)

// chargeRecorded charges work whose time was recorded, and reports whether it was.
func (w *simulation) chargeRecorded(i int32, work role.Work) bool {
	takes, known := w.prices.Recorded().WorkTime(work)
	switch {
	case !known:
		return false
	case work.Kind == role.Backward:
		w.backward(i, takes, 0) // hot rows are part of what was recorded
	case work.Kind == role.DenseApply && w.sharesReplica(work):
		w.waitUntil(i, w.clock.Now(), passing)
	default:
		w.compute(i, takes)
	}
	return true
}

// sharesReplica reports whether the dense optimizer step is another rank's work, because the ranks of one
// process share one replica.
func (w *simulation) sharesReplica(work role.Work) bool {
	d := w.config.Rule.Dense()
	return w.prices.Colocated() && work.Rank > 0 && !d.OwnReplicas && !d.DensePSs
}

// chargeRecordedReduction charges the sum of a bucket whose time was recorded, and reports whether it was.
func (w *simulation) chargeRecordedReduction(i int32) bool {
	r, bucket := w.prices.Recorded(), int(w.tasks[i].bucket)
	if r == nil || bucket >= len(r.Reduce) {
		return false
	}
	w.charge(i, 0, device.HostCost{Core: r.Reduce[bucket]}, 1, 1, whole)
	return true
}
