// Package predict predicts the throughput of a job on a cluster, with the range that follows from the ranges
// of all quantities, and says which improvements of the hardware would help most.
//
// Every prediction is made of runs of tandem/sim/cluster: one at the middle of all ranges, and one at each
// end.
package predict

import (
	"slices"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/sim/cluster"
	"tandem/sim/cost"
)

// Prediction is the result at the middle of every range, with the throughput at the ends.
type Prediction struct {
	cluster.Result
	Low, High float64 // samples a second at the worst and best ends of every range
}

// Positions returns the positions in the ranges at which Predict simulates: the middle, the worst end, the
// best.
func Positions() []float64 { return []float64{0, -1, 1} }

// Predict simulates a job at all Positions. It calls before, unless it is nil, before each run. The position
// of the options is not used.
func Predict(
	h *cost.Hardware, j job.Job, layout *model.Layout, w cost.Workload, o cluster.Options, before func(),
) (Prediction, error) {
	var throughput []float64
	var middle cluster.Result
	for i, position := range Positions() {
		if before != nil {
			before()
		}
		o.Position = position
		result, err := cluster.Run(h, j, layout, w, o)
		if err != nil {
			return Prediction{}, err
		}
		if i == 0 {
			middle = result
		}
		throughput = append(throughput, result.Throughput)
	}
	return Prediction{middle, slices.Min(throughput), slices.Max(throughput)}, nil
}
