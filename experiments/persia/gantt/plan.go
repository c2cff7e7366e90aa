package gantt

import (
	"tandem/algo/job"
	"tandem/algo/protocol/pace"
	"tandem/experiments/internal/report"
	"tandem/sim/predict"
)

// plan is everything that is fixed before the first run.
type plan struct {
	Preset    string     `yaml:"preset"` // of the cluster
	Model     string     `yaml:"model"`
	GPUs      int        `yaml:"gpus"`
	Samples   int        `yaml:"samples"` // points of the box of unknown inputs behind an interval
	Steps     int        `yaml:"steps"`   // measured of a run
	Shown     int        `yaml:"shown"`   // steps of the figure, of the slowest schedule
	Schedules []schedule `yaml:"schedules"`
}

// schedule is a panel of the chart.
type schedule struct {
	ID      string `yaml:"id"` // in names of quantities
	Name    string `yaml:"name"`
	Mode    string `yaml:"mode"`
	Overlap string `yaml:"overlap,omitempty"` // of DS and BC; empty: the mode has no such setting
}

// The schedules, in the order of the chart.
const (
	fullySync = iota
	fullyAsync
	naiveHybrid
	hybrid
)

// newPlan returns the plan of the quick or the full version.
func newPlan(o report.Options) *plan {
	p := &plan{
		Preset: "persia-paper", Model: "criteo", GPUs: 8, Steps: 16, Shown: 3,
		Samples: predict.SamplesDefault,
		Schedules: []schedule{
			{"sync", "sync", job.Sync, string(pace.HybridNaive)},
			{"async", "async", job.AsyncAverage, ""},
			{"hybrid-naive", "hybrid, naive", job.Hybrid, string(pace.HybridNaive)},
			{"hybrid", "hybrid", job.Hybrid, string(pace.HybridDS)},
		},
	}
	if o.Quick {
		p.Samples = 48
	}
	return p
}

// job returns the job of a schedule.
func (p *plan) job(s *schedule) (*predict.Job, error) {
	j, _, err := predict.New(predict.Choice{Preset: p.Preset, Model: p.Model, Mode: s.Mode, GPUs: p.GPUs})
	if err != nil {
		return nil, err
	}
	if s.Overlap != "" {
		j.Training.Overlap = s.Overlap
	}
	return j, nil
}
