package cluster

import (
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/device"
)

// RecordedTimes are core times of work that was performed on the machine. Work of a
// kind that it knows costs that, and no longer what the machine's rates say.
type RecordedTimes struct {
	Work   []RecordedWork // at most one of a kind and size
	Reduce []unit.Tick    // sum of a bucket over the ranks, by bucket
}

// RecordedWork is what a piece of work of a kind takes of one core. Samples are
// those of role.Work, and work of another size takes in proportion; 0 is for work
// that takes the same at any size.
type RecordedWork struct {
	Kind    role.WorkKind
	Samples int32
	Time    unit.Tick
}

// WorkTime returns what work takes, if its kind was recorded.
func (r *RecordedTimes) WorkTime(work role.Work) (takes unit.Tick, known bool) {
	if r == nil {
		return 0, false
	}
	for _, t := range r.Work {
		switch {
		case t.Kind != work.Kind:
		case t.Samples == 0, t.Samples == work.Samples:
			return t.Time, true
		case !known:
			takes, known = times(t.Time, float64(work.Samples)/float64(t.Samples)), true
		}
	}
	return takes, known
}

// Recorded returns the times that were recorded on the cluster's machine, or nil.
func (h *Hardware) Recorded() *RecordedTimes {
	if h.machine == nil {
		return nil
	}
	return h.machine.Recorded
}

// chargeRecorded charges work whose time was recorded, and reports whether it was.
func (w *simulation) chargeRecorded(i int32, work role.Work) bool {
	takes, known := w.prices.Recorded().WorkTime(work)
	switch {
	case !known:
		return false
	case work.Kind == role.Backward:
		w.backward(i, times(takes, w.jitter(work)))
	case work.Kind == role.Forward:
		w.compute(i, times(takes, w.jitter(work)))
	case work.Kind == role.DenseApply && w.sharesReplica(work):
		w.waitUntil(i, w.clock.Now())
	default:
		w.compute(i, takes)
	}
	return true
}

// sharesReplica reports whether the dense optimizer step is another rank's work,
// because the ranks of one process share one replica.
func (w *simulation) sharesReplica(work role.Work) bool {
	d := w.config.Rule.Dense()
	return w.prices.Colocated() && work.Rank > 0 && !d.Own && !d.DensePSs
}

// chargeRecordedReduction charges the sum of a bucket whose time was recorded, and reports
// whether it was.
func (w *simulation) chargeRecordedReduction(i int32) bool {
	r, bucket := w.prices.Recorded(), int(w.tasks[i].bucket)
	if r == nil || bucket >= len(r.Reduce) {
		return false
	}
	w.charge(i, 0, device.HostCost{Core: r.Reduce[bucket]}, 1, 1)
	return true
}
