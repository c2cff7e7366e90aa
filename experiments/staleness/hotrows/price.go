package hotrows

import (
	"cmp"
	"context"
	"fmt"

	"tandem/algo/job"
	"tandem/internal/parallel"
	"tandem/sim/predict"
)

// replica describes the rows of a model that every rank has.
type replica struct {
	Rows float64 `json:"rows"`
	// Share is the share of all ids that name one of these rows.
	Share float64 `json:"share_of_ids"`
}

// replicaOf describes the hot rows of a simulated job.
func replicaOf(j *predict.Job) *replica {
	w := &j.Workload
	return &replica{Rows: w.Hot.Rows, Share: w.Hot.Batch(1).Occurrences / w.Occurrences}
}

// speedPlan says what is simulated.
type speedPlan struct {
	Preset     string    `yaml:"preset"` // of the cluster and its model
	GPUs       []int     `yaml:"gpus"`
	Tau        int       `yaml:"tau"`
	Thresholds []float64 `yaml:"thresholds"` // descending
	Samples    int       `yaml:"samples"`    // points of the box of unknowns
	Steps      int       `yaml:"steps"`      // measured steps of a run
}

// speed is the simulated throughput of a way to train.
type speed struct {
	GPUs int    `json:"gpus"`
	Mode string `json:"mode"` // of package pace, or hot-rows
	// Threshold and Replica describe the rows on the ranks, in mode hot-rows.
	Threshold float64  `json:"threshold,omitempty"`
	Replica   *replica `json:"replica,omitempty"`
	// Throughput is in samples per second, at the middle of the box of unknowns.
	Throughput float64           `json:"samples_per_s"`
	Interval   *predict.Interval `json:"interval"`
	// ToSync and ToHybrid are the throughput ÷ that of another mode on as many GPUs.
	ToSync         float64           `json:"to_sync"`
	ToSyncInterval *predict.Interval `json:"to_sync_interval"`
	ToHybrid       float64           `json:"to_hybrid"`

	samples []float64 // throughput by point of the box
}

// hotRowsMode is the name of the mode with hot rows on the ranks.
const hotRowsMode = "hot-rows"

// measure simulates sync, hybrid and, by threshold, hot-rows on every number of GPUs.
func (p *speedPlan) measure(ctx context.Context, seed uint64, show func(done, all int)) ([]*speed, error) {
	var all []*speed
	for _, gpus := range p.GPUs {
		group := []*speed{{GPUs: gpus, Mode: job.Sync}, {GPUs: gpus, Mode: job.Hybrid}}
		for _, least := range p.Thresholds {
			group = append(group, &speed{GPUs: gpus, Mode: hotRowsMode, Threshold: least})
		}
		for i, s := range group {
			show(len(all)+i, len(group)*len(p.GPUs))
			if err := s.run(ctx, p, seed); err != nil {
				return nil, fmt.Errorf("%d GPUs, %s: %w", s.GPUs, s.Mode, err)
			}
		}
		for _, s := range group {
			s.compare(group[0], group[1])
		}
		all = append(all, group...)
	}
	show(len(all), len(all))
	return all, nil
}

// compare sets the intervals and the ratios to other modes.
func (s *speed) compare(sync, hybrid *speed) {
	ratios := make([]float64, len(s.samples))
	for k := range ratios {
		ratios[k] = s.samples[k] / sync.samples[k]
	}
	s.Interval, s.ToSyncInterval = predict.Percentiles(s.samples), predict.Percentiles(ratios)
	s.ToSync, s.ToHybrid = s.Throughput/sync.Throughput, s.Throughput/hybrid.Throughput
}

// pointSeed draws the points of the box.
const pointSeed = 1

// run simulates the middle and the points of the box, which are the same for all.
func (s *speed) run(ctx context.Context, p *speedPlan, seed uint64) error {
	choice := predict.Choice{Preset: p.Preset, Mode: s.Mode, GPUs: s.GPUs, Staleness: &p.Tau}
	if s.Mode == hotRowsMode {
		choice.Mode, choice.Hot = job.Hybrid, job.Hot{Share: s.Threshold}
	}
	middle, _, err := predict.New(choice)
	if err != nil {
		return err
	}
	jobs := []*predict.Job{middle}
	for _, point := range middle.Parameters().Sample(p.Samples, pointSeed) {
		jobs = append(jobs, middle.At(point))
	}
	if s.Mode == hotRowsMode {
		s.Replica = replicaOf(middle)
	}
	speeds, errs := make([]float64, len(jobs)), make([]error, len(jobs))
	parallel.ForEach(parallel.Cores(), len(jobs), func(i int) {
		made, err := predict.Run(ctx, jobs[i], predict.Options{Seed: seed, Steps: p.Steps, Workers: 1})
		if errs[i] = err; err == nil {
			speeds[i] = made.Mid.Throughput
		}
	})
	s.Throughput, s.samples = speeds[0], speeds[1:]
	return cmp.Or(errs...)
}
