package trial

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"

	"go.yaml.in/yaml/v3"

	"tandem/algo/exec/evaluation"
	"tandem/algo/exec/reference"
	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/protocol/pace"
	"tandem/experiments/internal/judge"
	"tandem/sim/cost"
)

// Part is which rows a training is evaluated on.
type Part string

// The parts.
const (
	// Test is the test rows. The training has all training rows.
	Test Part = "test"
	// Validation is the last tenth of the training rows, which the training does not have. Learning rates and
	// other settings are chosen on it.
	Validation Part = "validation"
)

// Spec is everything that decides the outcome of a training.
type Spec struct {
	Job  job.Job `yaml:"job"` // with its data and seeds
	Part Part    `yaml:"part"`
	// Simulated trains on the job's cluster in virtual time, with real numbers.
	Simulated bool `yaml:"simulated,omitempty"`
	// Box is the point of the cluster's unknown properties at which it is simulated; nil: the middle.
	Box *BoxPoint `yaml:"box,omitempty"`
	// Drop leaves out the last steps: what is late by τ steps has learned from τ steps less at its end.
	Drop int `yaml:"drop,omitempty"`
	// RecordOrder records the order of reads and updates of rows in the result of a real training.
	RecordOrder bool `yaml:"record-order,omitempty"`
	// Order is the order in which a sequential training reads and updates rows; nil: step by step.
	Order *reference.Order `yaml:"order,omitempty"`
	// Name is shown to people and decides nothing.
	Name string `yaml:"-"`
}

// BoxPoint is a point of the box that the ranges of a cluster's parameters span: one of a Latin hypercube.
type BoxPoint struct {
	Samples int `yaml:"samples"` // points of the hypercube
	Index   int `yaml:"index"`   // from 0
}

// boxSeed is the seed of all hypercubes, as of those of predict: positions depend on the names of parameters
// alone, so that clusters share what they have in common.
const boxSeed = 1

// Of returns a cluster at the point.
func (b *BoxPoint) Of(h *cost.Hardware) *cost.Hardware {
	if b == nil {
		return h
	}
	return h.At(h.Parameters().Sample(b.Samples, boxSeed)[b.Index])
}

// format is the version of IDs and of the file. Another one would read old lines wrongly.
const format = 1

// ID returns the hash of everything that decides the outcome: 16 hexadecimal digits.
func (s *Spec) ID() (string, error) {
	text, err := yaml.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("trial: %s: %w", s.Name, err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// deterministic reports whether every run of the training gives the same bits.
func (s *Spec) deterministic() bool { return s.Simulated || s.Job.Training.Mode == job.Sequential }

// keepsPredictions reports whether the predictions of the test rows are kept.
func (s *Spec) keepsPredictions() bool { return s.Part == Test && s.Job.Data.Kind != job.KindSynthetic }

// Result is the outcome of a training.
type Result struct {
	// Diverged is the reason why there is no outcome, or empty. AUC and LogLoss are then 0, and 0 is a worse
	// AUC than any that was measured.
	Diverged string  `json:"diverged,omitempty"`
	AUC      float64 `json:"auc"`
	LogLoss  float64 `json:"log_loss"` // nats
	Steps    int     `json:"steps"`
	Samples  int     `json:"samples"`
	TestRows int     `json:"test_rows"` // of the part
	// StepSeconds is the time of a step, in virtual time if simulated.
	StepSeconds float64        `json:"step_s"`
	Staleness   pace.Staleness `json:"-"`
	// Missed counts, for every row gradient, the updates of its row between read and update.
	Missed histogram.Histogram `json:"-"`
	// Curve has the evaluations of a training whose job asks for some during training. Seconds are
	// simulated where the training is.
	Curve []evaluation.Point `json:"curve,omitempty"`
	// HotRows is the number of rows that were never late, and HotGradients that of their gradients.
	HotRows      int    `json:"hot_rows,omitempty"`
	HotGradients uint64 `json:"hot_gradients,omitempty"`
	// Order is the order of reads and updates of rows, if the spec asks for it.
	Order *reference.Order `json:"order,omitempty"`
}

// Scores returns AUC and log loss, or those of a constant guess of ½ if the training diverged: somebody who
// had run it would have to fall back on that.
func (r *Result) Scores() (auc, logLoss float64) {
	if r.Diverged != "" {
		return 0.5, math.Ln2
	}
	return r.AUC, r.LogLoss
}

// AUCOrGuess returns the AUC, or that of a constant guess if the training diverged.
func (r *Result) AUCOrGuess() float64 {
	auc, _ := r.Scores()
	return auc
}

// Quality returns the scores of trainings, and how many of them diverged.
func Quality(results []Result) (q judge.Quality, diverged int) {
	for i := range results {
		auc, logLoss := results[i].Scores()
		q.AUC, q.LogLoss = append(q.AUC, auc), append(q.LogLoss, logLoss)
		if results[i].Diverged != "" {
			diverged++
		}
	}
	return q, diverged
}
