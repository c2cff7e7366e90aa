// Package theory tests what docs/theory.md proves about late row gradients.
//
// The model is logistic regression on one id per sample whose label is a fair coin, trained by plain SGD.
// Close to its optimum it is least squares, for which package stability has exact predictions: the learning
// rate at which delayed training diverges, and the excess loss below that rate. The trainings are real: the
// reference engine with imposed delays, and all roles on real threads.
package theory

import (
	"time"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/report"
)

// New returns the experiment.
func New() *report.Experiment {
	return report.Study(report.Experiment{
		Name:     "theory",
		Question: "Do late rows diverge at the predicted rate, and cost the predicted loss?",
		Help: `Trains a model in which the effect of delays can be computed: logistic
regression on one id per sample whose label is a fair coin, by plain SGD.

  threshold  the learning rate at which weights stop converging, by bisection,
             for shares q of the samples and delays of d steps. Predicted:
             η·q·¼ = 2·sin(π/(2(2d+1))). If the samples are drawn, the threshold
             is measured in the same way, under every seed.
  growth     how much a delay raises the excess loss, by τ, q and η. Predicted:
             by the share x = τ·q·η·¼ for small x, and exactly for all x.
  threads    the same in training with four ranks on real threads, where x
             follows from the updates that were missed.

Proofs are in docs/theory.md. measurements.jsonl has a line per measurement, from
which an interrupted run continues. The full version takes a few minutes.`,
		QuickTime: 30 * time.Second,
	}, newPlan, (*plan).measure, (*plan).report)
}

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

// rate returns η.
func (p point) rate() float64 { return p.Product * float64(p.Ids) / curvature }

// newPlan returns the plan of the quick or the full version. Its points are series that double τ, q or η from
// x = τ·q·η·h = 0.1 to 0.8.
func newPlan(o report.Options) (*plan, error) {
	p := &plan{
		Seed: o.Seed, Seeds: o.Seeds,
		Ids: []int{1, 2, 8, 32}, Delays: []int{0, 1, 4, 16, 63}, Precision: 0.001, Steps: 100_000,
		Taus: []int{0, 3, 7, 15}, ThreadSteps: 1000,
	}
	if o.Quick {
		p.Precision, p.Steps, p.ThreadSteps = 0.005, 10_000, 300
	}
	for _, first := range []point{{"τ", 2, 2, 0.05}, {"q", 32, 16, 0.05 / 8}, {"η", 8, 8, 0.1 / 8}} {
		for _, times := range []int{1, 2, 4, 8} {
			at := first
			switch first.Varied {
			case "τ":
				at.Delay *= times
			case "q":
				at.Ids, at.Product = at.Ids/times, at.Product*float64(times)
			case "η":
				at.Product *= float64(times)
			}
			p.Points = append(p.Points, at)
		}
	}
	return p, nil
}

// threshold returns the measurement of a threshold.
func (p *plan) threshold(ids, delay int, random bool, seed uint64) probe {
	return probe{Kind: "threshold", Delay: delay, Precision: p.Precision,
		samples: samples{Ids: ids, Batch: thresholdBatch, Random: random, Balanced: true, Seed: seed}}
}

// excess returns the measurement of an excess loss at a point, with its delay or without.
func (p *plan) excess(at point, delayed bool, seed uint64) probe {
	one := probe{Kind: "excess", Rate: at.rate(),
		samples: samples{Ids: at.Ids, Batch: samplesPerID * at.Ids, Length: p.Steps, Seed: seed}}
	if delayed {
		one.Delay = at.Delay
	}
	return one
}

// threads returns a training on real threads: in mode hybrid, or in mode sync for τ < 0.
func (p *plan) threads(tau int, seed uint64) probe {
	one := probe{Kind: "threads", Mode: job.Hybrid, Delay: tau, Rate: threadProduct * threadIds / curvature,
		samples: samples{Ids: threadIds, Batch: threadBatch, Random: true, Length: p.ThreadSteps, Seed: seed}}
	if tau < 0 {
		one.Mode, one.Delay = job.Sync, 0
	}
	return one
}

// bySeed returns the mean of a number over seeds, with its interval.
func (p *plan) bySeed(number func(seed uint64) float64) metric.Interval {
	all := make([]float64, p.Seeds)
	for i := range all {
		all[i] = number(p.Seed + uint64(i))
	}
	return metric.MeanInterval(all)
}
