package kwai

import (
	"fmt"
	"strings"

	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
	"tandem/sim/predict"
)

// results are all results of the experiment.
type results struct {
	paper.Results
	// Shape is what the unknown layers of the dense network, with the same number of parameters, explain at
	// 64 GPUs: shares of the variance of ranks of throughput. It is empty with few points.
	Shape []shape `json:"shape,omitempty"`
}

// shape is the share of a mode.
type shape struct {
	Mode  string  `json:"mode"`
	Share float64 `json:"share"`
}

func newResults(r *paper.Predictions) *results {
	out := &results{Results: r.Results}
	for _, c := range curves() {
		name := caseName(c.mode, 64)
		if effects := r.Effects(name, r.Throughput(name), len(r.Jobs[name].Parameters())); effects != nil {
			out.Shape = append(out.Shape, shape{c.mode, shapeShare(effects)})
		}
	}
	return out
}

// shapeShare returns the share of the effects of what decides the layers of the dense network: its depth and
// taper, and the slots and values of a row, which are the width of its input.
func shapeShare(effects []predict.Effect) (share float64) {
	for _, e := range effects {
		for _, prefix := range []string{"model.dense.", "model.count", "model.dim"} {
			if strings.HasPrefix(e.Name, prefix) {
				share += e.Share
			}
		}
	}
	return share
}

// draw adds to the comparisons what the shape explains, and the curves.
func draw(p *paper.Plan, r *results) *report.Report {
	out := p.Report(&r.Results)
	if r.Shape != nil {
		var parts []string
		for _, s := range r.Shape {
			parts = append(parts, fmt.Sprintf("%.0f %% (%s)", 100*s.Share, s.Mode))
		}
		out.Findings = append(out.Findings, "The unknown shape of a dense network of 34 M parameters "+
			"explains, of the variance of ranks of throughput at 64 GPUs: "+strings.Join(parts, ", ")+".")
	}
	out.Notes = append(out.Notes, notes()...)
	out.Figures = append(out.Figures, figure(&r.Results))
	return out
}

// figure returns throughputs by GPUs: predictions with intervals, points of the paper beside them.
func figure(r *paper.Results) report.Figure {
	f := report.Figure{
		Name: "throughput", Title: "Kwai-Video: predicted throughput, and points of the paper",
		X: report.Axis{Label: "V100s", LogPlusOne: true, Ticks: []float64{1, 4, 8, 16, 32, 64}},
		Y: report.Axis{Label: "thousand samples/s", LogPlusOne: true,
			Ticks: []float64{5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000}},
	}
	for i, c := range curves() {
		var points []paper.Point
		for _, x := range c.points {
			points = append(points, paper.Point{
				X: float64(x.gpus), Paper: paper.Digitised(x.rate, x.error), Case: caseName(c.mode, x.gpus),
			})
		}
		f.Lines = append(f.Lines, r.Beside(strings.TrimSuffix(c.mode, "-average"), i, paper.Kilo, points)...)
	}
	return f
}

// notes returns what a reader needs to judge this experiment.
func notes() []string {
	return []string{
		"The points are read from a figure whose axis has no unit; they are taken as thousand samples a " +
			"second. Ratios do not depend on it.",
		"The async of the paper is async-average: Bagua's asynchronous averaging of models. async-ps, with " +
			"dense parameters on PSs, is simulated at the middle of the inputs only.",
		"The paper prints 3.8 for hybrid ÷ sync without the number of GPUs; its figure has 3.6 at 8 GPUs " +
			"and 2.6 at 64.",
		"The dense network has 34 M parameters at every point of the box. Its depth, the taper of its " +
			"layers and the width of its input (slots × values of a row) are unknown inputs like any other.",
		"The null model of a point is linear scaling of the point at 8 GPUs, and no difference for a ratio.",
	}
}
