package cluster

import (
	"cmp"
	"math"
	"slices"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/fault"
)

// Sensitivity is what an improvement of one kind of quantity by a tenth would
// do.
type Sensitivity struct {
	Name   string  `json:"name"`
	Change float64 `json:"change"` // of throughput, as a part of it
}

// tenth is the improvement that sensitivity is measured by.
const tenth = 1.1

// Sensitivities improves every group of quantities by a tenth in turn, all
// else at the middle of its range, and returns the changes of throughput, the
// largest first. What is more-is-better is multiplied by 1.1, what is
// less-is-better divided by it. Before each run, ran is told how many of how many
// groups are done. The runs are without faults. Cost: about ten runs.
func Sensitivities(h *Hardware, t job.Job, layout *model.Layout, w Workload, ran func(done, total int)) ([]Sensitivity, error) {
	t.Faults = fault.Plan{}
	base, err := Run(h, t, layout, w, Options{})
	if err != nil {
		return nil, err
	}
	var groups []string
	for _, p := range h.quantities() {
		if p.group != "" && !slices.Contains(groups, p.group) {
			groups = append(groups, p.group)
		}
	}
	var list []Sensitivity
	for i, group := range groups {
		ran(i, len(groups))
		improved := h.clone()
		for _, p := range improved.quantities() {
			if p.group == group {
				p.improve(tenth)
			}
		}
		a, err := Run(improved, t, layout, w, Options{})
		if err != nil {
			return nil, err
		}
		list = append(list, Sensitivity{group, a.Throughput/base.Throughput - 1})
	}
	slices.SortStableFunc(list, func(a, b Sensitivity) int { return cmp.Compare(math.Abs(b.Change), math.Abs(a.Change)) })
	return list, nil
}
