// Package kwai compares predictions with the throughputs that the paper on Persia has for its confidential
// model of video recommendation at Kwai.
package kwai

import (
	"fmt"
	"slices"
	"time"

	"tandem/algo/job"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
)

// New returns the experiment.
func New() *report.Experiment {
	return paper.Study(report.Experiment{
		Name:     "kwai",
		Question: "Does the simulator predict how hybrid, async and sync scale on Kwai's video model?",
		Help: `Predicts the throughput of Kwai-Video, 2 T parameters, on 8 to 64 V100s of the
cluster persia-paper, in modes hybrid, async-average and sync. Slots, ids, layers
and dimension of this model are not published: they are ranges, so every point has
another network of 34 M parameters. No input is from the figures.

The full version has all numbers of GPUs, and mode async-ps at the middle of the
inputs. It ranks the inputs by total effects, and searches how large each input
alone must be for hybrid ÷ sync to be 3.8. It takes some minutes.`,
		QuickTime: 15 * time.Second,
	}, newPlan, newResults, draw)
}

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
	error float64
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
			{4, 60, vagueError}, {8, 121, vagueError}, {16, 219, readingError}, {32, 320, vagueError},
			{64, 580, vagueError},
		}},
		{job.Hybrid, []point{
			{1, 14, vagueError}, {4, 49, readingError}, {8, 101, readingError}, {16, 141, readingError},
			{32, 236, readingError}, {64, 398, readingError},
		}},
		{job.Sync, []point{
			{4, 17, vagueError}, {8, 28, readingError}, {16, 46, readingError}, {32, 88, readingError},
			{64, 155, readingError},
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
	p := paper.NewPlan(o, 48, 16)
	add := func(mode string, gpus int) *paper.Case {
		return p.Predict(caseName(mode, gpus), paper.Choice{
			Preset: "persia-paper", Model: "kwai-video", Mode: mode, GPUs: gpus,
		})
	}
	for _, c := range curves() {
		eight, last := c.at(8), c.at(64)
		for _, x := range c.points {
			if o.Quick && x.gpus != 8 && x.gpus != 64 {
				continue
			}
			name := add(c.mode, x.gpus).Name
			claim := paper.Claim{Name: fmt.Sprintf("throughput-%s-kwai-%d", c.mode, x.gpus),
				What: name, Of: name, Unit: paper.Kilo, Figure: paper.Digitised(x.rate, x.error)}
			if x.gpus > 8 {
				claim.Null = eight.rate / 8 * float64(x.gpus)
			}
			p.Claims = append(p.Claims, claim)
		}
		p.Claims = append(p.Claims, paper.Claim{
			Name: "scaling-" + c.mode + "-kwai-64", What: c.mode + ", 64 GPUs ÷ 8",
			Of: caseName(c.mode, 64), Over: caseName(c.mode, 8), Unit: paper.Fold, Null: 8,
			Figure: paper.DigitisedRatio(last.rate, eight.rate, eight.error),
		})
	}
	if !o.Quick {
		add(job.AsyncPS, 64).MiddleOnly = true
		p.Totals = []string{caseName(job.Hybrid, 64)}
	}
	compareModes(p, o)
	return p
}

// compareModes adds the ratios of modes.
func compareModes(p *paper.Plan, o report.Options) {
	all := curves()
	async, hybrid, sync := &all[0], &all[1], &all[2]
	for _, gpus := range []int{8, 64} {
		what := fmt.Sprintf("hybrid ÷ sync, %d GPUs", gpus)
		claim := paper.Claim{
			Name: fmt.Sprintf("hybrid-over-sync-kwai-%d", gpus), What: what,
			Of: caseName(job.Hybrid, gpus), Over: caseName(job.Sync, gpus), Unit: paper.Fold, Null: 1,
			Figure: paper.DigitisedRatio(hybrid.at(gpus).rate, sync.at(gpus).rate, readingError),
		}
		printed := claim
		printed.Name, printed.What = "", what+" if the 3.8 in the text is there"
		printed.Figure = paper.Printed(3.8, 0.1)
		p.Claims = append(p.Claims, claim, printed)
		if !o.Quick {
			p.Causes = append(p.Causes, paper.Cause{What: what, Of: claim.Of, Over: claim.Over, Target: 3.8})
		}
	}
	for _, mode := range []string{job.AsyncAverage, job.AsyncPS} {
		if o.Quick && mode == job.AsyncPS {
			continue
		}
		p.Claims = append(p.Claims, paper.Claim{
			Name: mode + "-over-hybrid-kwai-64", What: mode + " ÷ hybrid, 64 GPUs",
			Of: caseName(mode, 64), Over: caseName(job.Hybrid, 64), Unit: paper.Fold, Null: 1,
			Figure: paper.DigitisedRatio(async.at(64).rate, hybrid.at(64).rate, vagueError),
		})
	}
}
