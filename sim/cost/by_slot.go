package cost

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/sim/device"
)

// GroupRows describe the rows of a feature group and the ids that name them, as Workload does those of all.
type GroupRows struct {
	Slots                []string
	Occurrences, Weights float64
	Named                float64 // rows by the ids of a sample, each as often as it is named
	Distinct             func(samples int) float64
	Rows, Created        float64
	Width                int // pooled values of a sample
	Winners              int // of these, maxima
}

// validateGroups reports the first number of a group that is out of range, a slot that is in two groups, and
// the first number that the groups together do not have as the workload does. Sums are compared to a
// millionth, as the groups can be expectations that were added in another order.
func (w *Workload) validateGroups() error {
	if len(w.Groups) == 0 {
		return nil
	}
	known, sums := map[string]bool{}, GroupRows{}
	for i := range w.Groups {
		g := &w.Groups[i]
		if err := g.validate(); err != nil {
			return err
		}
		for _, slot := range g.Slots {
			if known[slot] {
				return fmt.Errorf("cost: workload: slot %s is in two feature groups", slot)
			}
			known[slot] = true
		}
		sums.Occurrences += g.Occurrences
		sums.Weights += g.Weights
		sums.Named += g.Named
		sums.Rows += g.Rows
		sums.Created += g.Created
		sums.Winners += g.Winners
	}
	for _, x := range []struct {
		what       string
		sum, whole float64
	}{{"slots", float64(len(known)), float64(w.Slots)}, {"ids a sample", sums.Occurrences, w.Occurrences},
		{"weights a sample", sums.Weights, w.Weights}, {"named rows a sample", sums.Named, w.RowsNamed()},
		{"rows", sums.Rows, w.Rows}, {"created rows", sums.Created, w.Created},
		{"maxima a sample", float64(sums.Winners), float64(w.Winners)}} {
		if !(math.Abs(x.sum-x.whole) <= 1e-6*x.whole) {
			return fmt.Errorf("cost: workload: its feature groups have %v %s together, and the workload %v",
				x.sum, x.what, x.whole)
		}
	}
	return nil
}

// validate reports the first number that is out of range.
func (g *GroupRows) validate() error {
	name := strings.Join(g.Slots, ", ")
	switch {
	case len(g.Slots) == 0:
		return errors.New("cost: workload: a feature group without slots")
	case !(g.Occurrences >= 0) || !(g.Weights >= 0) || g.Weights > g.Occurrences || !(g.Named >= 0):
		return fmt.Errorf("cost: workload: slots %s have %v ids a sample, %v with weights, which name %v "+
			"rows; want 0 or more, and no more weights than ids", name, g.Occurrences, g.Weights, g.Named)
	case !(g.Rows >= 0) || !(g.Created >= 0) || g.Distinct == nil:
		return fmt.Errorf("cost: workload: slots %s have %v rows, %v of them created; want 0 or more, and a "+
			"function of distinct rows", name, g.Rows, g.Created)
	case g.Width < 0 || g.Winners < 0 || g.Winners > g.Width:
		return fmt.Errorf("cost: workload: slots %s have %d pooled values a sample, %d of them maxima; want "+
			"0 or more, and no more maxima", name, g.Width, g.Winners)
	}
	return nil
}

// none is the workload of no slot.
func none() *Workload { return &Workload{Distinct: func(int) float64 { return 0 }} }

// Part returns the workload of some feature groups alone. It has no labels: they belong to samples, not to
// slots.
func (w *Workload) Part(groups []GroupRows) *Workload {
	part := none()
	part.RowDim, part.RowBytes, part.RowState, part.Trained = w.RowDim, w.RowBytes, w.RowState, w.Trained
	var slots []string
	for i := range groups {
		g := &groups[i]
		part.Occurrences += g.Occurrences
		part.RowOccurrences += g.Named
		part.Weights += g.Weights
		part.Rows += g.Rows
		part.Created += g.Created
		part.Winners += g.Winners
		slots = append(slots, g.Slots...)
	}
	part.Slots = len(slots)
	part.Distinct = func(samples int) (sum float64) {
		for i := range groups {
			sum += groups[i].Distinct(samples)
		}
		return sum
	}
	if w.PackedOf != nil {
		part.Packed = w.PackedOf(slots)
	}
	return part
}

// OnPSs returns the workload of the rows on PSs: all of w, unless the job has rows on GPUs.
func (w *Workload) OnPSs(t *job.Job) *Workload { return w.placedBy(t, 0).ps }

// OnGPUs returns the workload of the rows on GPUs: none, unless the job has some there.
func (w *Workload) OnGPUs(t *job.Job) *Workload { return w.placedBy(t, 0).gpu }

// placement is a workload divided by where a job has its rows.
type placement struct {
	ps, gpu *Workload
	psWidth int  // pooled values of a sample that an EW sends
	mixed   bool // both sides have slots
}

// placedBy divides a workload, which has a number of pooled values of a sample, by where a job has its rows.
func (w *Workload) placedBy(t *job.Job, width int) placement {
	switch {
	case !t.HasRowsOnGPU():
		return placement{ps: w, gpu: none(), psWidth: width}
	case !t.MixesPlacements():
		return placement{ps: none(), gpu: w}
	}
	ps, gpu := w.GroupsByPlace(t)
	by := placement{ps: w.Part(ps), gpu: w.Part(gpu), mixed: len(ps) > 0 && len(gpu) > 0}
	for i := range ps {
		by.psWidth += ps[i].Width
	}
	return by
}

// GroupsByPlace returns the feature groups whose rows a job has on PSs, and those whose rows are on GPUs.
func (w *Workload) GroupsByPlace(t *job.Job) (ps, gpu []GroupRows) {
	for _, g := range w.Groups {
		if slices.ContainsFunc(g.Slots, t.SlotOnGPU) {
			gpu = append(gpu, g)
		} else {
			ps = append(ps, g)
		}
	}
	return ps, gpu
}

// CheckGroups returns an error if a job places rows by slot, and the workload does not say what each slot
// has.
func (w *Workload) CheckGroups(t *job.Job) error {
	if t.MixesPlacements() && len(w.Groups) == 0 {
		return errors.New("workload: no feature groups, and the job has the rows of some slots on GPUs " +
			"(placement in data.slots)")
	}
	if t.MixesPlacements() && t.Wire.Index == job.IndexCompressed && w.PackedOf == nil {
		return errors.New("workload: no sizes of the compressed ids of some slots (PackedOf)")
	}
	return nil
}

// columns returns the kernels that copy the pooled values of slots on PSs into the input of the network, or
// their gradients out of it: a launch for each group, and a read and a write of every value. It returns none
// unless both sides have slots.
func (p *Prices) columns(samples int32) []device.Kernel {
	if !p.by.mixed {
		return nil
	}
	values := float64(p.by.psWidth) * float64(samples)
	return []device.Kernel{{Launches: max(1, p.Job.GroupsPerRank()), Bytes: bytesOf(2 * valueBytes * values)}}
}
