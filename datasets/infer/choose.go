package infer

import (
	"context"
	"slices"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/selection"
	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/datasets"
)

// Choice is a job whose settings were chosen on held-back training rows.
type Choice struct {
	*selection.Trial
	Held int // number of rows held back

	labels, weights []float32 // of these rows; weights may be nil
}

// ChooseEpochs chooses the number of epochs of a job, at most those it has, on a share of its training rows.
// These are the last ones where the test rows are the last ones, and else are drawn.
func ChooseEpochs(ctx context.Context, j job.Job, set *datasets.Dataset, share float64, m backend.Backend) (
	*Choice, error) {
	return choose(ctx, []job.Job{j}, set, share, set.TrainRows(), m)
}

// EpochsToTry returns the largest number of epochs to choose from for a table: EpochsMost for all but large
// ones, where a trial would take long and most epochs gain nothing.
func EpochsToTry(set *datasets.Dataset) int {
	return min(max(samplesTried/set.TrainRows(), 1), EpochsMost)
}

// Share returns the share of the training rows of a data set to hold back for a choice.
func Share(set *datasets.Dataset) float64 {
	return min(max(shareLeast, rowsHeld/float64(max(set.TrainRows(), 1))), shareMost)
}

// Decide returns the job of a table with the derived slots, the model and the number of epochs that held-back
// rows choose. Where the rows are too few to choose, or stay in their file because memory is scarce, the
// epochs are those of EpochsWithout.
func Decide(ctx context.Context, j job.Job, set *datasets.Dataset, m backend.Backend) (job.Job, error) {
	if set.Rows != nil {
		j.Training.Epochs = EpochsWithout(set)
		return j, nil
	}
	if j.Training.Epochs = EpochsToTry(set); j.Training.Epochs == 1 {
		return j, nil
	}
	share := Share(set)
	variants, err := Derive(ctx, j, set, reopen, share, m)
	if err != nil {
		return j, err
	}
	err = TryNetworks(ctx, variants, share, true, m)
	if ctx.Err() != nil {
		return j, context.Cause(ctx)
	}
	if err != nil {
		j.Training.Epochs = EpochsWithout(set)
		return j, nil
	}
	_, _, j = Choose(variants, true)
	return j, nil
}

// reopen reads the data of a job whose paths are absolute.
func reopen(data job.Data) (*datasets.Dataset, error) { return datasets.Open(data, "") }

const (
	// samplesTried bounds the samples of a trial, in all of its epochs.
	samplesTried = 20_000_000
	// baselineSamples bounds the samples that a baseline is trained on unless the job trains on more.
	baselineSamples = 4_000_000
	// shareLeast is the share of the training rows to hold back, unless these are fewer than rowsHeld; of so
	// few, noise would choose. More than shareMost is missed by the training that remains.
	shareLeast, shareMost, rowsHeld = 0.1, 0.3, 1000
)

// Baseline returns a logistic regression on the ids and numbers of a job, which the job's model should beat.
// Its rows are trained as SetRowOptimizer says, its other weights by Adagrad with a rate of 0.1. The step of
// the rows and the number of epochs are chosen on a share of the training rows, of at most 100,000. Choice is
// nil where the rows are too few to choose on; then the step is 1, and the epochs are those of the job.
func Baseline(ctx context.Context, j job.Job, set *datasets.Dataset, share float64, m backend.Backend) (
	job.Job, *Choice, error) {
	j = logistic(j)
	columns := len(set.Schema.Slots)
	SetRowOptimizer(&j, columns, 1)
	own := j.Training.Epochs
	j.Training.Epochs = min(max(baselineSamples/max(set.TrainRows(), 1), own), max(EpochsMost, own))
	var candidates []job.Job
	for _, step := range []float64{0.5, 2} {
		candidate := j
		SetRowOptimizer(&candidate, columns, step)
		candidates = append(candidates, candidate)
	}
	choice, err := choose(ctx, candidates, set, share, partRows, m)
	if ctx.Err() != nil {
		return j, nil, context.Cause(ctx)
	}
	if err != nil {
		j.Training.Epochs = own
		return j, nil, nil
	}
	return choice.Job, choice, nil
}

// logistic returns the logistic regression of a job, trained sequentially.
func logistic(j job.Job) job.Job {
	j = j.InMode(job.Sequential)
	j.Training.Overlap, j.Training.Merge = "", ""
	j.Training.ClearDelays() // also where the job is sequential
	heads := j.Model.Heads
	j.Model.Kind, j.Model.Heads = model.LogisticRegression, make([]model.Head, len(heads))
	j.Model.Wide = nil // all its slots are
	for i, head := range heads {
		j.Model.Heads[i] = head
		j.Model.Heads[i].Layers, j.Model.Heads[i].Weight = nil, 0
	}
	j.Model.Optimizer = opt.DefaultDense()
	j.Model.Optimizer.Kind, j.Model.Optimizer.Rate = opt.Adagrad, 0.1
	j.Rows.Optimizer, j.Rows.Init = opt.DefaultRow(), 0
	j.Data.Slots = slices.Clone(j.Data.Slots)
	for i := range j.Data.Slots {
		own := &j.Data.Slots[i]
		own.Dim = 0 // its rows have a value for each label
		own.Optimizer, own.Init, own.Precision = nil, nil, ""
	}
	return j
}

// choose tries jobs on the rows of a data set that are left when a share is held back, of at most some rows
// (Dataset.HoldBack).
func choose(ctx context.Context, jobs []job.Job, set *datasets.Dataset, share float64, most int,
	m backend.Backend) (*Choice, error) {
	part, err := set.HoldBack(share, set.Latest, jobs[0].Training.Seed, most)
	if err != nil {
		return nil, err
	}
	var trials []*selection.Trial
	for _, j := range jobs {
		source, err := datasets.TrainingSource(part, &j)
		if err != nil {
			return nil, err
		}
		trial, err := selection.Run(ctx, selection.Candidate{Job: j, Source: source}, part.Test, m)
		if err != nil {
			return nil, err
		}
		trials = append(trials, trial)
	}
	return &Choice{selection.Choose(trials), part.Test.Samples, part.Test.Labels, part.Test.Weights}, nil
}
