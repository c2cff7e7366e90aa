package infer

import (
	"math"
	"math/bits"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/datasets"
)

// Job returns a job to begin with. It follows from the number of training rows and the shares of positive
// labels: predictions begin at these shares, and batches and epochs give small tables enough steps.
// Everything else is the same for all tables.
func Job(set *datasets.Dataset) job.Job {
	rows := set.TrainRows()
	j := job.Default()
	j.Model.Kind, j.Model.EmbeddingDim = model.DeepFM, 8
	if len(set.Schema.Labels) > 1 {
		j.Model.Kind = model.FeedForward // a deepfm has one label
	}
	j.Model.Top = []int{64, 32}
	for label := range set.Schema.Labels {
		j.Model.Heads = append(j.Model.Heads, model.Head{Bias: logit(set, label)})
	}
	j.Training.GlobalBatch = batchFor(rows)
	j.Training.Epochs = epochsFor(rows, j.Training.GlobalBatch)
	staleness := 1
	j.Training.Staleness = &staleness
	j.Rows.Optimizer.Kind, j.Rows.Optimizer.Rate = opt.Adagrad, 0.02
	j.Model.Optimizer.Kind, j.Model.Optimizer.Rate = opt.Adam, 0.001
	j.Roles.Ranks = 2
	return j
}

// logit returns the output bias with which predictions begin at the share of positive training rows.
func logit(set *datasets.Dataset, label int) float64 {
	positive, rows := 0.5, 1.0 // half a row of each label keeps the share inside (0, 1)
	labels := len(set.Schema.Labels)
	for chunk := range set.TrainChunks() {
		rows += float64(chunk.Samples)
		for i := range chunk.Samples {
			positive += float64(chunk.Labels[i*labels+label])
		}
	}
	return math.Log(positive / (rows - positive))
}

const (
	batchMin, batchMost = 64, 4096
	// stepsWanted is the number of steps of an epoch that batches are chosen for.
	stepsWanted = 500
	// stepsGoal is the number of steps of a training that epochs are chosen for, up to epochsMost.
	stepsGoal, epochsMost = 1000, 3
)

// batchFor returns the global batch for a number of rows, a power of two.
func batchFor(rows int) int {
	return 1 << bits.Len(uint(min(max(rows/stepsWanted, batchMin), batchMost)-1))
}

// epochsFor returns how often to pass over a number of rows.
func epochsFor(rows, batch int) int {
	return min(max((stepsGoal*batch+rows/2)/max(rows, 1), 1), epochsMost)
}
