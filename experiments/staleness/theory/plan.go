package theory

import (
	"tandem/algo/job"
	"tandem/experiments/internal/report"
)

// plan is everything that is fixed before the first measurement.
type plan struct {
	Seed  uint64 `yaml:"seed"` // the first
	Seeds int    `yaml:"seeds"`

	// Of the thresholds.
	Ids       []int   `yaml:"ids"`       // each has the share q = 1/ids of the samples
	Delays    []int   `yaml:"delays"`    // in steps
	Precision float64 `yaml:"precision"` // relative, of a threshold

	// Of the growth of the excess loss.
	Points []point `yaml:"points"`
	Steps  int     `yaml:"steps"` // of a training

	// Of the trainings on real threads.
	Taus        []int `yaml:"taus"`
	ThreadSteps int   `yaml:"thread-steps"`
}

// Settings that the quick and the full version share.
const (
	thresholdBatch = 64 // samples
	// samplesPerID is the number of samples of an id in a batch of the growth. Weights then stay so small
	// that the logistic loss is quadratic to 1 %.
	samplesPerID = 16

	threadRanks   = 4
	threadIds     = 512
	threadBatch   = 4096
	threadProduct = 0.02 // η·q·h

	goal = 0.05 // largest relative error of a threshold
)

// point is a delay at a rate and a share.
type point struct {
	Varied  string  `yaml:"varied" json:"varied"` // what differs from the other points of the series
	Ids     int     `yaml:"ids" json:"ids"`
	Delay   int     `yaml:"delay" json:"delay"`
	Product float64 `yaml:"product" json:"product"` // η·q·h
}

// share returns q.
func (p point) share() float64 { return 1 / float64(p.Ids) }

// rate returns η.
func (p point) rate() float64 { return p.Product / (p.share() * curvature) }

// x returns τ·q·η·h.
func (p point) x() float64 { return float64(p.Delay) * p.Product }

// Series of points that double τ, q or η from x = 0.1 to x = 0.8.
const (
	variedTau   = "τ"
	variedShare = "q"
	variedRate  = "η"
)

func points() []point {
	var all []point
	for _, times := range []int{1, 2, 4, 8} {
		all = append(all, point{variedTau, 2, 2 * times, 0.05})
	}
	for _, times := range []int{1, 2, 4, 8} {
		all = append(all, point{variedShare, 32 / times, 16, 0.05 / 8 * float64(times)})
	}
	for _, times := range []int{1, 2, 4, 8} {
		all = append(all, point{variedRate, 8, 8, 0.1 / 8 * float64(times)})
	}
	return all
}

// newPlan returns the plan of the quick or the full version.
func newPlan(o report.Options) *plan {
	p := &plan{
		Seed: o.Seed, Seeds: o.Seeds,
		Ids: []int{1, 2, 8, 32}, Delays: []int{0, 1, 4, 16, 63}, Precision: 0.001,
		Points: points(), Steps: 100_000,
		Taus: []int{0, 3, 7, 15}, ThreadSteps: 1000,
	}
	if o.Quick {
		p.Precision, p.Steps, p.ThreadSteps = 0.005, 10_000, 300
	}
	return p
}

// threshold returns the measurement of a threshold.
func (p *plan) threshold(ids, delay int, random bool, seed uint64) probe {
	return probe{Kind: "threshold", Ids: ids, Batch: thresholdBatch, Random: random, Balanced: true,
		Delay: delay, Precision: p.Precision, Seed: seed}
}

// excess returns the measurement of an excess loss at a point, with its delay or without.
func (p *plan) excess(at point, delayed bool, seed uint64) probe {
	one := probe{Kind: "excess", Ids: at.Ids, Batch: samplesPerID * at.Ids, Rate: at.rate(), Steps: p.Steps,
		Seed: seed}
	if delayed {
		one.Delay = at.Delay
	}
	return one
}

// threads returns a training on real threads: in mode hybrid, or in mode sync for τ < 0.
func (p *plan) threads(tau int, seed uint64) probe {
	one := probe{Kind: "threads", Mode: job.Hybrid, Ids: threadIds, Batch: threadBatch, Random: true,
		Delay: tau, Rate: threadProduct * threadIds / curvature, Steps: p.ThreadSteps, Seed: seed}
	if tau < 0 {
		one.Mode, one.Delay = job.Sync, 0
	}
	return one
}

// seeds returns all seeds.
func (p *plan) seeds() []uint64 {
	all := make([]uint64, p.Seeds)
	for i := range all {
		all[i] = p.Seed + uint64(i)
	}
	return all
}

// probes returns all measurements: the deterministic ones, then those on real threads.
func (p *plan) probes() (deterministic, threads []probe) {
	for _, delay := range p.Delays {
		for _, ids := range p.Ids {
			deterministic = append(deterministic, p.threshold(ids, delay, false, p.Seed))
		}
	}
	for _, seed := range p.seeds() {
		for _, delay := range p.Delays {
			for _, ids := range p.Ids {
				if ids > 1 { // one id has all samples, drawn or not
					deterministic = append(deterministic, p.threshold(ids, delay, true, seed))
				}
			}
		}
		for _, at := range p.Points {
			deterministic = append(deterministic, p.excess(at, false, seed), p.excess(at, true, seed))
		}
		for _, tau := range append([]int{-1}, p.Taus...) {
			threads = append(threads, p.threads(tau, seed))
		}
	}
	return deterministic, threads
}
