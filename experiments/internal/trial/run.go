package trial

import (
	"context"
	"errors"
	"fmt"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/embedding"
	"tandem/algo/exec/reference"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/role"
	"tandem/datasets"
	"tandem/experiments/internal/paired"
	"tandem/sim/cost"
)

// run trains a spec and returns the probabilities of the evaluated rows as well.
func run(ctx context.Context, s *Spec, open *cache, b backend.Backend) (*Result, []float32, error) {
	data, err := open.open(s.Job.Data)
	if err != nil {
		return nil, nil, err
	}
	if s.Part == Validation {
		if data, err = withoutLastTenth(data); err != nil {
			return nil, nil, err
		}
	}
	batches, err := source(s, data)
	if err != nil {
		return nil, nil, err
	}
	setup := &paired.Setup{Job: s.Job, Data: data, Source: batches, Backend: b, Order: s.Order,
		RecordOrder: s.RecordOrder}
	var r *paired.Run
	if s.Simulated {
		r, err = runSimulated(ctx, setup, s.Box)
	} else {
		r, err = setup.RunReal(ctx, nil, nil)
	}
	result := &Result{TestRows: data.Test.Samples}
	switch {
	case errors.Is(err, reference.ErrNonFinite), errors.Is(err, role.ErrNonFinite),
		errors.Is(err, embedding.ErrNonFinite), errors.Is(err, paired.ErrDiverged):
		result.Diverged = err.Error()
		return result, nil, nil
	case err != nil:
		return nil, nil, err
	}
	result.AUC, result.LogLoss, result.StepSeconds = r.AUC, r.LogLoss, r.StepSeconds
	result.Curve, result.Order = r.Curve, r.Order
	result.HotRows, result.HotGradients = r.HotRows, r.HotGradients
	result.Staleness, result.Missed, result.Steps = r.Staleness, r.Missed, batches.Steps()
	for step := range result.Steps {
		result.Samples += batches.Samples(step)
	}
	return result, r.Probabilities, nil
}

// withoutLastTenth returns the data with the last tenth of the training rows as test rows.
func withoutLastTenth(data *datasets.Dataset) (*datasets.Dataset, error) {
	whole, err := data.InMemory()
	if err != nil {
		return nil, err
	}
	part := *whole
	all, n := part.Train, part.Train.Samples
	part.Train, part.Test = batch.Slice(all, 0, n-n/10), batch.Slice(all, n-n/10, n)
	return &part, nil
}

// runSimulated trains on the job's cluster, at a point of what is unknown of it.
func runSimulated(ctx context.Context, setup *paired.Setup, at *BoxPoint) (*paired.Run, error) {
	hardware, _, err := cost.Load(&setup.Job.Cluster, "")
	if err != nil {
		return nil, err
	}
	return setup.RunSimulated(ctx, at.Of(hardware))
}

// errDropSimulated says what only sequential and real training do.
var errDropSimulated = errors.New("a simulated training cannot leave out steps; compare it with a " +
	"sequential one")

// source returns the global batches of a spec.
func source(s *Spec, data *datasets.Dataset) (batch.Source, error) {
	all, err := datasets.TrainingSource(data, &s.Job)
	switch {
	case err != nil || s.Drop == 0:
		return all, err
	case s.Simulated:
		return nil, errDropSimulated
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
