// Package source takes the cost of asynchronous training apart, in three experiments:
//
//	source               which part may learn late: the embedding rows or the dense network (late.go)
//	async-decomposition  how much of what async-ps loses each of its properties loses (async.go)
//	predictor            which number predicts what late rows cost, without late rows (predictor.go)
package source

import (
	"tandem/algo/job"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
)

// New returns the experiment with its parts.
func New() *report.Experiment {
	return &report.Experiment{
		Name:     "source",
		Question: "What of asynchrony costs AUC, and which number of a job predicts it?",
		Help:     "Takes the cost of asynchronous training apart.",
		Parts:    []*report.Experiment{newLate(), newAsync(), newPredictor()},
	}
}

// smallJob returns the job that all trainings begin with: a small model.
func smallJob() job.Job {
	j := job.Default()
	j.Model.EmbeddingDim, j.Model.Top = 8, []int{32, 16}
	return j
}

// every returns each step-th result from a first one.
func every(results []trial.Result, first, step int) (list []trial.Result) {
	for i := first; i < len(results); i += step {
		list = append(list, results[i])
	}
	return list
}
