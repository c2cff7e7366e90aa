package kwai

import (
	"fmt"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
	"tandem/sim/predict"
)

// quickSamples is the number of points of the box of inputs in the quick version.
const quickSamples = 48

// steps is the number of measured steps of a run.
const steps = 16

// readingError is the error of a point read from the figure, in thousand samples a second, and vagueError
// that of a point that is partly hidden.
const (
	readingError = 5
	vagueError   = 10
)

// point is a point of the figure, in thousand samples a second. The unit is not printed; the points would be
// samples a second otherwise, which is far below one GPU.
type point struct {
	gpus  int
	rate  float64
	vague bool // partly hidden
}

// curve is a mode of the figure.
type curve struct {
	mode   string
	points []point
}

// curves returns the points, read from the figure of the paper.
func curves() []curve {
	return []curve{
		{job.AsyncAverage, []point{
			{4, 60, true}, {8, 121, true}, {16, 219, false}, {32, 320, true}, {64, 580, true},
		}},
		{job.Hybrid, []point{
			{1, 14, true}, {4, 49, false}, {8, 101, false}, {16, 141, false}, {32, 236, false},
			{64, 398, false},
		}},
		{job.Sync, []point{
			{4, 17, true}, {8, 28, false}, {16, 46, false}, {32, 88, false}, {64, 155, false},
		}},
	}
}

func caseName(mode string, gpus int) string { return fmt.Sprintf("%s, %d GPUs", mode, gpus) }

// at returns the point of a curve at a number of GPUs that it has.
func (c *curve) at(gpus int) point {
	return c.points[slices.IndexFunc(c.points, func(p point) bool { return p.gpus == gpus })]
}

// newPlan returns the plan of the quick or the full version.
func newPlan(o report.Options) *paper.Plan {
	p := &paper.Plan{Samples: predict.SamplesDefault, Seeds: o.Seeds, Seed: o.Seed, Steps: steps}
	if o.Quick {
		p.Samples = quickSamples
	}
	add := func(mode string, gpus int, middleOnly bool) {
		p.Cases = append(p.Cases, paper.Case{Name: caseName(mode, gpus), MiddleOnly: middleOnly,
			Choice: paper.Choice{
				Preset: "persia-paper", Model: "kwai-video", Mode: mode, GPUs: gpus,
			}})
	}
	for _, c := range curves() {
		for _, x := range c.points {
			if o.Quick && x.gpus != 8 && x.gpus != 64 {
				continue
			}
			add(c.mode, x.gpus, false)
			within := float64(readingError)
			if x.vague {
				within = vagueError
			}
			claim := paper.Claim{Name: fmt.Sprintf("throughput-%s-kwai-%d", c.mode, x.gpus),
				What: caseName(c.mode, x.gpus), Of: caseName(c.mode, x.gpus), Unit: paper.Kilo,
				Figure: paper.Digitised(x.rate, within)}
			if x.gpus > 8 {
				claim.Null = c.at(8).rate / 8 * float64(x.gpus)
			}
			p.Claims = append(p.Claims, claim)
		}
		within := float64(readingError)
		if c.at(8).vague {
			within = vagueError
		}
		p.Claims = append(p.Claims, paper.Claim{
			Name: "scaling-" + c.mode + "-kwai-64", What: c.mode + ", 64 GPUs ÷ 8",
			Of: caseName(c.mode, 64), Over: caseName(c.mode, 8), Unit: paper.Fold, Null: 8,
			Figure: paper.DigitisedRatio(c.at(64).rate, c.at(8).rate, within),
		})
	}
	if !o.Quick {
		add(job.AsyncPS, 64, true)
		p.Totals = []string{caseName(job.Hybrid, 64)}
	}
	compareModes(p, o)
	return p
}

// compareModes adds the ratios of modes.
func compareModes(p *paper.Plan, o report.Options) {
	modes := []string{job.AsyncAverage}
	if !o.Quick {
		modes = append(modes, job.AsyncPS)
	}
	all := curves()
	async, hybrid, sync := &all[0], &all[1], &all[2]
	for _, gpus := range []int{8, 64} {
		of, over := caseName(hybrid.mode, gpus), caseName(sync.mode, gpus)
		what := fmt.Sprintf("hybrid ÷ sync, %d GPUs", gpus)
		p.Claims = append(p.Claims, paper.Claim{
			Name: fmt.Sprintf("hybrid-over-sync-kwai-%d", gpus),
			What: what, Of: of, Over: over, Unit: paper.Fold, Null: 1,
			Figure: paper.DigitisedRatio(hybrid.at(gpus).rate, sync.at(gpus).rate, readingError),
		}, paper.Claim{
			What: what + " if the 3.8 in the text is there", Of: of, Over: over, Unit: paper.Fold, Null: 1,
			Figure: paper.Printed(3.8, 0.1),
		})
		if !o.Quick {
			p.Causes = append(p.Causes, paper.Cause{What: what, Of: of, Over: over, Target: 3.8})
		}
	}
	for _, mode := range modes {
		p.Claims = append(p.Claims, paper.Claim{
			Name: mode + "-over-hybrid-kwai-64", What: mode + " ÷ hybrid, 64 GPUs",
			Of: caseName(mode, 64), Over: caseName(hybrid.mode, 64), Unit: paper.Fold, Null: 1,
			Figure: paper.DigitisedRatio(async.at(64).rate, hybrid.at(64).rate, vagueError),
		})
	}
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
		var theirs, ours []report.Point
		for _, x := range c.points {
			theirs = append(theirs, report.Exact(float64(x.gpus), x.rate))
			if p := r.Prediction(caseName(c.mode, x.gpus)); p != nil {
				ours = append(ours, report.Point{X: float64(x.gpus), Y: p.Mid.Throughput / 1e3,
					Low: p.Interval.Low / 1e3, High: p.Interval.High / 1e3})
			}
		}
		f.Lines = append(f.Lines, report.Beside(strings.TrimSuffix(c.mode, "-average"), i, theirs, ours)...)
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
