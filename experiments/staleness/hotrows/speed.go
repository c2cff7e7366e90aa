package hotrows

import (
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
	for _, gpus := range p.GPUs {
		group, err := p.group(gpus)
		if err != nil {
			return nil, err
		}
		all = append(all, group...)
	}
	for i, s := range all {
		show(i, len(all))
		if err := s.run(ctx, p, seed); err != nil {
			return nil, fmt.Errorf("%d GPUs, %s: %w", s.GPUs, s.Mode, err)
		}
	}
	show(len(all), len(all))
	each := len(all) / len(p.GPUs)
	for i, s := range all {
		group := all[i/each*each:]
		sync, hybrid := group[0], group[1]
		s.ToSync, s.ToHybrid = s.Throughput/sync.Throughput, s.Throughput/hybrid.Throughput
		ratios := make([]float64, len(s.samples))
		for k := range ratios {
			ratios[k] = s.samples[k] / sync.samples[k]
		}
		s.Interval, s.ToSyncInterval = predict.Percentiles(s.samples), predict.Percentiles(ratios)
	}
	return all, nil
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

// run simulates the middle and the points of the box, which are the same for all.
func (s *speed) run(ctx context.Context, p *speedPlan, seed uint64) error {
	middle, err := s.at(ctx, s.job, p.Steps, seed)
	if err != nil {
		return err
	}
	s.Throughput = middle
	points := s.job.Parameters().Sample(p.Samples, pointSeed)
	s.samples = make([]float64, len(points))
	errs := make([]error, len(points))
	parallel.ForEach(parallel.Cores(), len(points), func(i int) {
		s.samples[i], errs[i] = s.at(ctx, s.job.At(points[i]), p.Steps, seed)
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// pointSeed draws the points of the box.
const pointSeed = 1

// at returns the throughput of a job whose unknowns are fixed.
func (s *speed) at(ctx context.Context, j *predict.Job, steps int, seed uint64) (float64, error) {
	if s.Mode == hotRowsMode {
		r := replicate(j.Model, s.Threshold)
		j = r.onRanks(*j)
	}
	prediction, err := predict.Run(ctx, j, predict.Options{Seed: seed, Steps: steps, Workers: 1})
	if err != nil {
		return 0, err
	}
	return prediction.Mid.Throughput, nil
}
