package predict

import (
	"cmp"
	"context"
	"math"
	"slices"

	"tandem/algo/protocol/fault"
	"tandem/internal/parallel"
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
// which more is better is multiplied by 1.1, others are divided by 1.1. The runs are without faults. Cost:
// one simulation a group.
func Sensitivities(ctx context.Context, j *Job, o Options) ([]Sensitivity, error) {
	healthy := *j
	healthy.Faults = fault.Plan{}
	groups := j.Parameters().Groups()
	rates := make([]float64, 1+len(groups))
	errs := make([]error, len(rates))
	count := o.counter(len(rates))
	parallel.ForEach(workers(&o), len(rates), func(i int) {
		if errs[i] = ctx.Err(); errs[i] != nil {
			return
		}
		defer count()
		better := &healthy
		if i > 0 {
			better = healthy.Improved(groups[i-1], tenth)
		}
		var r Result
		r, errs[i] = o.run(ctx, better, o.Seed)
		rates[i] = r.Throughput
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	list := make([]Sensitivity, len(groups))
	for i, group := range groups {
		list[i] = Sensitivity{group, rates[i+1]/rates[0] - 1}
	}
	slices.SortStableFunc(list, func(a, b Sensitivity) int {
		return cmp.Compare(math.Abs(b.Change), math.Abs(a.Change))
	})
	return list, nil
}
