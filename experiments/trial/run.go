package trial

import (
	"context"
	"errors"
	"fmt"
	"math"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/embedding"
	"tandem/algo/exec/reference"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/role"
	"tandem/datasets"
	"tandem/experiments/paired"
	"tandem/runtime/train"
	"tandem/sim/cost"
)

// run trains a spec and returns the probabilities of the evaluated rows as well.
func run(ctx context.Context, s *Spec, open *cache, b backend.Backend) (*Result, []float32, error) {
	data, err := open.open(s.Job.Data)
	if err != nil {
		return nil, nil, err
	}
	if s.Part == Validation {
		data = withoutLastTenth(data)
	}
	var result *Result
	var probabilities []float32
	if s.Simulated {
		result, probabilities, err = runSimulated(ctx, s, data, b)
	} else {
		result, probabilities, err = runReal(ctx, s, data, b)
	}
	switch {
	case errors.Is(err, reference.ErrNonFinite), errors.Is(err, role.ErrNonFinite),
		errors.Is(err, embedding.ErrNonFinite):
		result = &Result{Diverged: err.Error()}
	case err != nil:
		return nil, nil, err
	case math.IsNaN(result.AUC) || math.IsNaN(result.LogLoss) || math.IsInf(result.LogLoss, 0):
		result = &Result{Diverged: fmt.Sprintf("AUC %v, log loss %v", result.AUC, result.LogLoss)}
	}
	result.TestRows = data.Test.Samples
	return result, probabilities, nil
}

// withoutLastTenth returns the data with the last tenth of the training rows as test rows.
func withoutLastTenth(data *datasets.Dataset) *datasets.Dataset {
	part := *data
	n := data.Train.Samples
	part.Train, part.Test = batch.Slice(data.Train, 0, n-n/10), batch.Slice(data.Train, n-n/10, n)
	return &part
}

// runReal trains with the runtime, or in sequence.
func runReal(ctx context.Context, s *Spec, data *datasets.Dataset, b backend.Backend) (
	*Result, []float32, error) {
	batches, err := source(s, data)
	if err != nil {
		return nil, nil, err
	}
	r, err := train.Run(ctx, s.Job, batches, data.Test, train.Options{Backend: b})
	if err != nil {
		return nil, nil, err
	}
	return &Result{
		AUC: r.AUC, LogLoss: r.LogLoss, Steps: r.Steps, Samples: r.Samples,
		StepSeconds: r.Wall.Seconds() / float64(r.Steps), Staleness: r.Staleness, Missed: r.MissedUpdates,
		HotRows: r.HotRows, HotGradients: r.HotGradients,
	}, r.Probabilities, nil
}

// errDropSimulated says what only sequential training does.
var errDropSimulated = errors.New("a simulated training cannot leave out steps; compare it with a " +
	"sequential one")

// runSimulated trains on the job's cluster.
func runSimulated(ctx context.Context, s *Spec, data *datasets.Dataset, b backend.Backend) (
	*Result, []float32, error) {
	if s.Drop != 0 {
		return nil, nil, errDropSimulated
	}
	hardware, _, err := cost.Load(&s.Job.Cluster, "")
	if err != nil {
		return nil, nil, err
	}
	r, err := (&paired.Setup{Job: s.Job, Data: data, Backend: b}).RunSimulated(ctx, hardware)
	if err != nil {
		return nil, nil, err
	}
	steps := ((data.Train.Samples-1)/s.Job.Training.GlobalBatch + 1) * s.Job.Training.Epochs
	return &Result{
		AUC: r.AUC, LogLoss: r.LogLoss, Steps: steps, Samples: data.Train.Samples * s.Job.Training.Epochs,
		StepSeconds: r.StepSeconds, Staleness: r.Staleness,
	}, r.Probabilities, nil
}

// source returns the global batches of a spec.
func source(s *Spec, data *datasets.Dataset) (batch.Source, error) {
	all, err := datasets.TrainingSource(data, &s.Job)
	if err != nil || s.Drop == 0 {
		return all, err
	}
	if s.Drop < 0 || s.Drop >= all.Steps() {
		return nil, fmt.Errorf("cannot leave out %d of %d steps", s.Drop, all.Steps())
	}
	return shortened{all, all.Steps() - s.Drop}, nil
}

// shortened is a source that ends early.
type shortened struct {
	batch.Source
	steps int
}

// Steps implements batch.Source.
func (s shortened) Steps() int { return s.steps }
