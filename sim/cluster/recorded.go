package cluster

import (
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/device"
)

// Recorded are core times of work that was performed on the machine. Work of a
// kind that it knows costs that, and no longer what the machine's rates say.
type Recorded struct {
	Work   []WorkTime  // at most one of a kind and size
	Reduce []unit.Tick // sum of a bucket over the ranks, by bucket
}

// WorkTime is what a piece of work of a kind takes of one core. Samples are
// those of role.Work, and work of another size takes in proportion; 0 is for work
// that takes the same at any size.
type WorkTime struct {
	Kind    role.WorkKind
	Samples int32
	Time    unit.Tick
}

// time returns what work takes, if its kind was recorded.
func (r *Recorded) time(work role.Work) (takes unit.Tick, known bool) {
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

// recorded returns the times that were recorded on the cluster's machine, or nil.
func (h *Hardware) recorded() *Recorded {
	if h.machine == nil {
		return nil
	}
	return h.machine.Recorded
}

// beginRecorded charges work whose time was recorded, and reports whether it was.
func (w *world) beginRecorded(i int32, work role.Work) bool {
	takes, known := w.prices.recorded().time(work)
	switch {
	case !known:
		return false
	case work.Kind == role.Backward:
		w.backward(i, times(takes, w.slowdown(work)))
	case work.Kind == role.Forward:
		w.compute(i, times(takes, w.slowdown(work)))
	case work.Kind == role.DenseApply && w.sharesReplica(work):
		w.wait(i, w.clock.Now())
	default:
		w.compute(i, takes)
	}
	return true
}

// sharesReplica reports whether the dense optimizer step is another rank's work,
// because the ranks of one process share one replica.
func (w *world) sharesReplica(work role.Work) bool {
	d := w.config.Rule.Dense()
	return w.prices.colocated() && work.Rank > 0 && !d.Own && !d.DensePSs
}

// reduceRecorded charges the sum of a bucket whose time was recorded, and reports
// whether it was.
func (w *world) reduceRecorded(i int32) bool {
	r, bucket := w.prices.recorded(), int(w.tasks[i].bucket)
	if r == nil || bucket >= len(r.Reduce) {
		return false
	}
	w.charge(i, 0, device.HostCost{Core: r.Reduce[bucket]}, 1, 1)
	return true
}
