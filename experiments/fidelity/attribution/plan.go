package attribution

import (
	"tandem/algo/job"
	"tandem/experiments/internal/report"
	"tandem/sim/predict"
)

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

// intervalSteps is the number of measured steps of a simulation of the test of intervals.
const intervalSteps = 8

// newPlan returns the plan of the quick or the full version.
func newPlan(o report.Options) *plan {
	p := &plan{Seed: o.Seed, Jobs: 50, Steps: 20, Points: 30, Samples: predict.SamplesDefault, Others: 2000,
		Seeds: o.Seeds, Cases: cases()}
	if o.Quick {
		p.Jobs, p.Others, p.Cases = 10, predict.SamplesDefault, p.Cases[:2]
	}
	return p
}

// cases returns the boxes of the test of intervals. The quick version has the first two.
func cases() []box {
	return []box{
		{"criteo, 8 GPUs of persia-paper", predict.Choice{GPUs: 8, Mode: job.Hybrid}, true},
		{"mlperf-dcnv2, 8 GPUs of dgx-h100", predict.Choice{Preset: "dgx-h100", GPUs: 8}, false},
		{"criteo, 64 GPUs of persia-paper", predict.Choice{GPUs: 64, Mode: job.Hybrid}, true},
		{"criteo-syn-100t, 64 GPUs of persia-gcp",
			predict.Choice{Preset: "persia-gcp", Model: "criteo-syn-100t", Mode: job.Hybrid}, true},
		{"criteo, 16 GPUs of commodity-10g",
			predict.Choice{Preset: "commodity-10g", Model: "criteo", GPUs: 16, Mode: job.Hybrid}, true},
	}
}
