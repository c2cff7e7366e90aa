package predict

import (
	"cmp"
	"context"
	"math"
	"slices"

	"tandem/algo/protocol/fault"
)

// Sensitivity is the effect of a better group of parameters on the throughput.
type Sensitivity struct {
	Name   string  `json:"name"`
	Change float64 `json:"change"` // of the throughput, relative to it
}

// tenth is the factor by which Sensitivities improves a group.
const tenth = 1.1

// Sensitivities improves every group of parameters by a tenth, one group at a time with all other parameters
// at the middle of their ranges, and returns the changes of the throughput, the largest first. A parameter of
// which more is better is multiplied by 1.1, others are divided by 1.1. Tables stay where they are, and the
// runs are without faults. Cost: one simulation a group, and two more.
func Sensitivities(ctx context.Context, j *Job, o Options) ([]Sensitivity, error) {
	healthy := *j
	healthy.Faults = fault.Plan{}
	groups := j.Parameters().Groups()
	count := o.counter(1 + len(groups))
	placed, _, err := o.place(ctx, &healthy)
	if err != nil {
		return nil, err
	}
	base, err := o.run(ctx, placed, o.Seed)
	if err != nil {
		return nil, err
	}
	count()
	list := make([]Sensitivity, len(groups))
	err = o.each(ctx, len(groups), count, func(i int) error {
		r, err := o.run(ctx, placed.Improved(groups[i], tenth), o.Seed)
		list[i] = Sensitivity{groups[i], r.Throughput/base.Throughput - 1}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b Sensitivity) int {
		return cmp.Compare(math.Abs(b.Change), math.Abs(a.Change))
	})
	return list, nil
}
