package kwai

import (
	"fmt"
	"strings"

	"tandem/algo/job"
	"tandem/experiments/internal/paper"
	"tandem/sim/predict"
)

// shapeSamples is the number of points from which on the shares of inputs are estimated: with fewer, inputs
// without any effect agree with a throughput by chance.
const shapeSamples = 128

// shapeInputs are the beginnings of the names of what decides the layers of the dense network: its depth and
// taper, and the slots and values of a row, which are the width of its input.
func shapeInputs() []string { return []string{"model.dense.", "model.count", "model.dim"} }

// shapeFinding says how much of the intervals is due to the unknown layers of the dense network, with the
// same number of parameters; "" with too few points.
func shapeFinding(r *paper.Results) string {
	var parts []string
	for _, mode := range []string{job.AsyncAverage, job.Hybrid, job.Sync} {
		name := caseName(mode, 64)
		p := r.Prediction(name)
		if p == nil || len(p.Samples) < shapeSamples {
			return ""
		}
		effects := predict.MainEffects(r.Job(name), p.Samples, len(r.Job(name).Parameters()))
		parts = append(parts, fmt.Sprintf("%.0f %% (%s)", 100*shapeShare(effects), mode))
	}
	return "The unknown shape of a dense network of 34 M parameters explains, of the variance of ranks of " +
		"throughput at 64 GPUs: " + strings.Join(parts, ", ") + "."
}

// shapeShare returns the share of the effects of the shape.
func shapeShare(effects []predict.Effect) (share float64) {
	for _, e := range effects {
		for _, prefix := range shapeInputs() {
			if strings.HasPrefix(e.Name, prefix) {
				share += e.Share
			}
		}
	}
	return share
}
