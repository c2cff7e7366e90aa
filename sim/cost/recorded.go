package cost

import (
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// RecordedTimes are core times of work that ran on the machine. Work of a recorded kind costs its recorded
// time, not the time that follows from the rates of the machine.
type RecordedTimes struct {
	Work   []RecordedWork // at most one per kind and size
	Reduce []unit.Tick    // to sum a bucket over the ranks, by bucket
}

// RecordedWork is the time of one core for work of a kind. Samples is the size, as in role.Work; work of
// another size takes time in proportion. 0 means that the time does not depend on the size.
type RecordedWork struct {
	Kind    role.WorkKind
	Samples int32
	Time    unit.Tick
}

// WorkTime returns the time of work, and whether its kind was recorded.
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
			takes, known = t.Time.Scale(float64(work.Samples)/float64(t.Samples)), true
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

// TimerLate returns by how much the timers of the cluster's machine fire late; 0 where it was not measured.
func (h *Hardware) TimerLate() unit.Tick {
	if h.machine == nil {
		return 0
	}
	return h.machine.TimerLate
}
