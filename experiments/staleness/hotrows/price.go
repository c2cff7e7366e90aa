package hotrows

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/unit"
	"tandem/internal/parallel"
	network "tandem/sim/model"
	"tandem/sim/popularity"
	"tandem/sim/predict"
)

// valueBytes is the size of a value of a row on a rank, and of its gradient.
const valueBytes = 4

// replica describes the rows of a model that every rank has.
type replica struct {
	Rows float64 `json:"rows"`
	// Share is the share of all ids that name one of these rows.
	Share float64   `json:"share_of_ids"`
	hot   []float64 // rows by table
	ids   []float64 // ids of a sample that name them, by table
	of    *network.Model
}

// replicate returns the rows of a model that at least a share of the samples contain.
func replicate(m *network.Model, leastShare float64) replica {
	r := replica{of: m}
	all, named := 0.0, 0.0
	for _, t := range m.Tables() {
		hot := hotRows(&t, leastShare)
		ids := t.IDs * t.Frequencies.Share(hot)
		r.hot, r.ids = append(r.hot, hot), append(r.ids, ids)
		r.Rows += hot
		all, named = all+t.IDs, named+ids
	}
	r.Share = named / all
	return r
}

// hotRows returns the number of rows of a table that at least a share of the samples contain. A sample
// contains a row of probability p with probability 1 − (1 − p)^ids.
func hotRows(t *network.Table, leastShare float64) float64 {
	contains := func(rank float64) float64 { // the probability that a sample contains the row of a rank
		p := t.Frequencies.Share(rank) - t.Frequencies.Share(rank-1)
		return -math.Expm1(t.IDs * math.Log1p(-min(p, 1)))
	}
	// At most IDs/share rows are in a share of the samples each.
	lo, hi := 0.0, math.Floor(min(t.Rows, t.IDs/leastShare))
	for lo < hi {
		middle := math.Ceil((lo + hi) / 2)
		if contains(middle) >= leastShare {
			lo = middle
		} else {
			hi = middle - 1
		}
	}
	return lo
}

// onRanks returns a job of mode hybrid whose hot rows are on the ranks:
//
//   - Hot ids go with the samples to the NN workers. Embedding workers and PSs see the other ids only.
//   - Ranks gather and add hot rows, and scatter their gradients, in two further kernels of each pass.
//   - The gradients of all hot rows are a further bucket of the all-reduce, after those of the network, and
//     the optimizer of the network updates the rows on every rank.
//
// The job must have been described from its model, whose tables must not be derived from each other. Without
// hot rows it is mode hybrid.
func (r *replica) onRanks(j predict.Job) *predict.Job {
	if r.Rows == 0 {
		return &j
	}
	w := &j.Workload
	tables := r.of.Tables()
	var columns []popularity.Popularity
	var rest []float64 // ids of a sample in the columns
	hotIDs, hotValues, restIDs := 0.0, 0, 0.0
	for i, t := range tables {
		hotIDs += r.ids[i]
		hotValues += int(r.hot[i]) * t.Dim
		ids := t.IDs - r.ids[i]
		if t.Rows-r.hot[i] < 1 || ids <= 0 {
			continue
		}
		restIDs += ids
		columns = append(columns, beyond(&t, r.hot[i]))
		rest = append(rest, ids)
	}
	w.Occurrences, w.Rows = restIDs, w.Rows-r.Rows
	hot := r.hot
	w.Distinct = func(samples int) (rows float64) {
		for i, t := range tables {
			rows += t.Frequencies.DistinctBeyond(float64(samples)*t.IDs, hot[i])
		}
		return rows
	}
	mixed := sync.OnceValue(func() popularity.Popularity { return popularity.Mix(columns, rest) })
	w.Skew = func(samples, servers int) float64 {
		return mixed().Skew(servers, restIDs*float64(samples))
	}
	layout := *j.Layout
	layout.Params += hotValues
	layout.Buckets = append(slices.Clone(layout.Buckets),
		model.Bucket{Lo: j.Layout.Params, Hi: layout.Params})
	layout.Tensors = append(slices.Clone(layout.Tensors), model.Tensor{Name: "hot rows",
		Shape: []int{hotValues}, Lo: j.Layout.Params, Hi: layout.Params})
	// An id has the size of two values. A row is read and added to what is pooled.
	layout.DenseWidth += int(math.Round(2 * hotIDs))
	layout.Cost.ActivationBytes += unit.Bytes(math.Round(2 * valueBytes * hotIDs * float64(w.RowDim)))
	layout.Cost.Kernels += 2
	j.Layout, j.Model = &layout, nil // else the model would describe the job again
	return &j
}

// beyond returns the popularity of the rows of a table apart from the most frequent ones.
func beyond(t *network.Table, hot float64) popularity.Popularity {
	taken := t.Frequencies.Share(hot)
	return popularity.New(t.Rows-hot, func(n float64) float64 {
		return (t.Frequencies.Share(hot+n) - taken) / (1 - taken)
	})
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
		choice.Mode = job.Hybrid
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
		hot := replicate(middle.Model, s.Threshold)
		s.Replica = &hot
		for i, j := range jobs {
			r := replicate(j.Model, s.Threshold)
			jobs[i] = r.onRanks(*j)
		}
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
