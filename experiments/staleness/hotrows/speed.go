package hotrows

import (
	"cmp"
	"context"
	"fmt"

	"tandem/algo/job"
	"tandem/internal/parallel"
	"tandem/sim/predict"
)

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

	job     *predict.Job
	samples []float64 // throughput by point
}

// hotRowsMode is the name of the mode with hot rows on the ranks.
const hotRowsMode = "hot-rows"

// measure simulates hybrid, sync and hot-rows.
func (p *speedPlan) measure(ctx context.Context, seed uint64, show func(done, all int)) ([]*speed, error) {
	var all []*speed
	each := 2 + len(p.Thresholds)
	for _, gpus := range p.GPUs {
		group, err := p.group(gpus)
		if err != nil {
			return nil, err
		}
		for i, s := range group {
			show(len(all)+i, each*len(p.GPUs))
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

// group returns what is simulated on a number of GPUs: sync, hybrid, then hot-rows by threshold.
func (p *speedPlan) group(gpus int) ([]*speed, error) {
	var group []*speed
	for _, mode := range []string{job.Sync, job.Hybrid} {
		choice := predict.Choice{Preset: p.Preset, Mode: mode, GPUs: gpus, Staleness: &p.Tau}
		j, _, err := predict.New(choice)
		if err != nil {
			return nil, err
		}
		group = append(group, &speed{GPUs: gpus, Mode: mode, job: j})
	}
	hybrid := group[1].job
	for _, least := range p.Thresholds {
		r := replicate(hybrid.Model, least)
		group = append(group,
			&speed{GPUs: gpus, Mode: hotRowsMode, Threshold: least, Replica: &r, job: hybrid})
	}
	return group, nil
}

// pointSeed draws the points of the box.
const pointSeed = 1

// run simulates the middle and the points of the box, which are the same for all.
func (s *speed) run(ctx context.Context, p *speedPlan, seed uint64) error {
	jobs := []*predict.Job{s.job}
	for _, point := range s.job.Parameters().Sample(p.Samples, pointSeed) {
		jobs = append(jobs, s.job.At(point))
	}
	speeds, errs := make([]float64, len(jobs)), make([]error, len(jobs))
	parallel.ForEach(parallel.Cores(), len(jobs), func(i int) {
		j := jobs[i]
		if s.Mode == hotRowsMode {
			r := replicate(j.Model, s.Threshold)
			j = r.onRanks(*j)
		}
		made, err := predict.Run(ctx, j, predict.Options{Seed: seed, Steps: p.Steps, Workers: 1})
		if errs[i] = err; err == nil {
			speeds[i] = made.Mid.Throughput
		}
	})
	s.Throughput, s.samples = speeds[0], speeds[1:]
	return cmp.Or(errs...)
}
