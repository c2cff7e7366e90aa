// Package attribution tests two answers of the simulator against the simulator: the resource that binds a
// job, and the interval around a prediction.
//
// The first test draws random jobs, doubles every resource of each, one at a time, and compares the gains
// with the list of bottlenecks of the run. The second draws points of the box of unknown parameters, which
// play the truth, and counts how often the printed intervals contain what is simulated there.
package attribution

import (
	"time"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
	"tandem/sim/predict"
)

// New returns the experiment.
func New() *report.Experiment {
	return report.Study(report.Experiment{
		Name:     "attribution",
		Question: "Do simulated runs name what binds them, and do intervals contain the truth?",
		Help: `The simulator is tested against itself; nothing is trained.

  bottlenecks  random jobs: preset, model, mode, GPUs, batch, staleness, precision
               of rows, numbers of hosts and all unknown parameters are drawn.
               Every resource is doubled, one at a time. A job passes if doubling
               the first of its list of bottlenecks gains at least 5 % of
               throughput, and doubling any one after the third changes it by at
               most 5 %. Target: 45 of 50 jobs.
  intervals    random points of the box of unknown parameters play the truth. The
               intervals of throughput and of hybrid/sync, from 256 samples of
               the box, must contain at least 28 of 30 simulated truths, and be
               no wider than the range of 2,000 other points. The spread over
               --seeds seeds of jitter is apart from them.

The full version takes about half an hour on two cores.`,
		QuickTime: 15 * time.Second,
	}, newPlan, (*plan).measure, (*plan).report)
}

// plan is everything that is fixed before the first simulation.
type plan struct {
	Seed    uint64 `yaml:"seed"`
	Jobs    int    `yaml:"jobs"`    // of the test of bottlenecks
	Steps   int    `yaml:"steps"`   // of one of these jobs
	Points  int    `yaml:"points"`  // of the box that play the truth
	Samples int    `yaml:"samples"` // of the box behind an interval
	Others  int    `yaml:"others"`  // independent points whose range an interval is held against
	Seeds   int    `yaml:"seeds"`   // of jitter
	Cases   []box  `yaml:"cases"`   // of the test of intervals
}

// box is a job with unknown parameters.
type box struct {
	Name   string         `yaml:"name"`
	Choice predict.Choice `yaml:"-"`
	// Ratio is set if the ratio of hybrid to sync is tested beside the throughput of hybrid.
	Ratio bool `yaml:"ratio"`
}

// Goals, set before the first run.
const (
	gainLeast  = 0.05 // of the first bottleneck, doubled
	changeMost = 0.05 // of any resource after the third, doubled
	named      = 3    // resources of the list that may gain more than changeMost
	jobsGoal   = 0.9  // share of the jobs that pass
	truthsGoal = 28. / 30
)

// newPlan returns the plan of the quick or the full version. The quick one has the first two boxes.
func newPlan(o report.Options) (*plan, error) {
	p := &plan{Seed: o.Seed, Jobs: 50, Steps: 20, Points: 30, Samples: predict.SamplesDefault, Others: 2000,
		Seeds: o.Seeds, Cases: []box{
			{"criteo, 8 GPUs of persia-paper", predict.Choice{GPUs: 8, Mode: job.Hybrid}, true},
			{"mlperf-dcnv2, 8 GPUs of dgx-h100", predict.Choice{Preset: "dgx-h100", GPUs: 8}, false},
			{"criteo, 64 GPUs of persia-paper", predict.Choice{GPUs: 64, Mode: job.Hybrid}, true},
			{"criteo-syn-100t, 64 GPUs of persia-gcp",
				predict.Choice{Preset: "persia-gcp", Model: "criteo-syn-100t", Mode: job.Hybrid}, true},
			{"criteo, 16 GPUs of commodity-10g",
				predict.Choice{Preset: "commodity-10g", Model: "criteo", GPUs: 16, Mode: job.Hybrid}, true},
		}}
	if o.Quick {
		p.Jobs, p.Others, p.Cases = 10, predict.SamplesDefault, p.Cases[:2]
	}
	return p, nil
}
