package predict

import (
	"cmp"
	"math"
	"slices"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/fault"
	"tandem/sim/cluster"
	"tandem/sim/cost"
)

// Sensitivity is the effect of a better group of quantities on the throughput.
type Sensitivity struct {
	Name   string  `json:"name"`
	Change float64 `json:"change"` // of the throughput, relative to it
}

// tenth is the factor by which Sensitivities improves a group.
const tenth = 1.1

// Sensitivities improves every group of quantities by a tenth, one group at a time with all other quantities
// at the middle of their ranges, and returns the changes of the throughput, the largest first. A quantity of
// which more is better is multiplied by 1.1, others are divided by 1.1. Before each run, the function before
// receives the number of finished groups and of all groups. The runs are without faults. Cost: about ten
// runs.
func Sensitivities(
	h *cost.Hardware, j job.Job, layout *model.Layout, w cost.Workload, before func(done, total int),
) ([]Sensitivity, error) {
	j.Faults = fault.Plan{}
	base, err := cluster.Run(h, j, layout, w, cluster.Options{})
	if err != nil {
		return nil, err
	}
	groups := h.Groups()
	var list []Sensitivity
	for i, group := range groups {
		before(i, len(groups))
		result, err := cluster.Run(h.Improved(group, tenth), j, layout, w, cluster.Options{})
		if err != nil {
			return nil, err
		}
		list = append(list, Sensitivity{group, result.Throughput/base.Throughput - 1})
	}
	slices.SortStableFunc(list, func(a, b Sensitivity) int {
		return cmp.Compare(math.Abs(b.Change), math.Abs(a.Change))
	})
	return list, nil
}
