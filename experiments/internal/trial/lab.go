package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/report"
	"tandem/internal/parallel"
)

// Lab runs the trainings of one experiment. Its methods are not safe for concurrent use.
type Lab struct {
	options report.Options
	log     *log
	earlier []*log // of the experiments that the same command has run
	data    *cache

	expected, given int // specs of all calls of Run: those to come as well, and those until now
	toTrain         int // of those given: the trainings that had no result

	mu    sync.Mutex
	meter report.Meter
}

// Open returns the lab of an experiment. It reads the results of earlier runs in the folder, and takes over
// equal trainings of the experiments that the same command has run before, if they are deterministic. It must
// be closed.
func Open(o report.Options) (*Lab, error) {
	engine := o.Backend.Multiplier(&job.Job{}).Name()
	log, err := openLog(o.Folder, engine)
	if err != nil {
		return nil, err
	}
	l := &Lab{options: o, log: log, data: newCache(o), meter: report.Meter{Report: o.Progress}}
	for _, folder := range o.Earlier {
		earlier, err := readLog(folder, engine)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l.earlier = append(l.earlier, earlier)
	}
	return l, nil
}

// Measure opens the lab of an experiment for a number of trainings (see Lab.Expect; 0: unknown), returns what
// measure returns, and closes the lab. Errors of measure begin with the name of the experiment.
func Measure[R any](o report.Options, name string, trainings int, measure func(*Lab) (R, error)) (r R,
	err error) {
	lab, err := Open(o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, lab.Close()) }()
	lab.Expect(trainings)
	if r, err = measure(lab); err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// Study returns report.Study of an experiment that trains: measure gets a lab, and tells it how many
// trainings to expect. Errors of measure begin with the name of the experiment.
func Study[P, D any](
	e report.Experiment, plan func(report.Options) (P, error),
	measure func(P, context.Context, *Lab) (D, error), draw func(P, D) *report.Report,
) *report.Experiment {
	return report.Study(e, plan, func(p P, ctx context.Context, o report.Options) (D, error) {
		return Measure(o, e.Name, 0, func(lab *Lab) (D, error) { return measure(p, ctx, lab) })
	}, draw)
}

// Close closes the file of results.
func (l *Lab) Close() error { return l.log.close() }

// Expect says how many specs Run will be given in all, equal ones and those with results included. Progress
// then counts to the end of the experiment, not of the current call of Run. Too large a number does no harm.
func (l *Lab) Expect(specs int) { l.expected = specs }

// Run returns the results of trainings, in their order. It trains what has no result yet: deterministic ones
// side by side, then the others one by one. Equal specs are trained once. A training that diverges is a
// result with Diverged set. If one fails, Run ends the others and returns the error of the first one.
func (l *Lab) Run(ctx context.Context, specs []Spec) ([]Result, error) {
	ids := make([]string, len(specs))
	var together, alone []int // indices of specs to train
	seen := map[string]bool{}
	for i := range specs {
		id, err := specs[i].ID()
		if err != nil {
			return nil, err
		}
		ids[i] = id
		if _, ok := l.log.results[id]; ok || seen[id] {
			continue
		}
		seen[id] = true
		if !specs[i].deterministic() {
			alone = append(alone, i)
		} else if done, err := l.takeOver(id, &specs[i]); err != nil {
			return nil, err
		} else if !done {
			together = append(together, i)
		}
	}
	l.given += len(specs)
	l.toTrain += len(together) + len(alone)
	l.meter.Total = l.toTrain + max(0, l.expected-l.given)
	l.meter.Start()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	train := func(i int) {
		if ctx.Err() != nil {
			return
		}
		if err := l.train(ctx, ids[i], &specs[i]); err != nil {
			cancel(fmt.Errorf("%s: %w", specs[i].Name, err))
		}
	}
	parallel.ForEach(parallel.Cores(), len(together), func(k int) { train(together[k]) })
	for _, i := range alone {
		train(i)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	results := make([]Result, len(specs))
	for i, id := range ids {
		results[i] = l.log.results[id]
	}
	return results, nil
}

// takeOver keeps the result that an earlier experiment of the same command has of a training, and reports
// whether there is one.
func (l *Lab) takeOver(id string, s *Spec) (bool, error) {
	for _, earlier := range l.earlier {
		result, ok := earlier.results[id]
		if !ok {
			continue
		}
		if s.keepsPredictions() && result.Diverged == "" {
			probabilities, err := earlier.predictions(id)
			if err != nil {
				return false, err
			}
			if err := l.log.keep(id, probabilities); err != nil {
				return false, err
			}
		}
		return true, l.log.add(id, s.Name, &result)
	}
	return false, nil
}

// train trains a spec and keeps its result.
func (l *Lab) train(ctx context.Context, id string, s *Spec) error {
	result, probabilities, err := run(ctx, s, l.data, l.options.Backend)
	if err != nil {
		return err
	}
	if s.keepsPredictions() && result.Diverged == "" {
		if err := l.log.keep(id, probabilities); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.log.add(id, s.Name, result); err != nil {
		return err
	}
	l.meter.Done++
	l.meter.Show(0, 1, s.Name)
	return nil
}

// rowResamples is the number of resamples of the test rows of real data: the standard error that they give
// is within 5 % of its limit.
const rowResamples = 200

// RowDeviation returns the standard error, by the luck of test rows that all seeds share, of the mean AUC
// difference of trainings, which have one spec per seed: see judge.Comparison. It is 0 on generated data.
func (l *Lab) RowDeviation(treated, reference []Spec) (float64, error) {
	if !treated[0].keepsPredictions() {
		return 0, nil
	}
	var sides [2][][]float32
	var labels []float32
	for side, specs := range [][]Spec{treated, reference} {
		for i := range specs {
			probabilities, theirs, err := l.predictions(&specs[i])
			if err != nil {
				return 0, err
			}
			sides[side], labels = append(sides[side], probabilities), theirs
		}
	}
	return metric.AUCRowDeviation(sides[0], sides[1], labels, rowResamples, 1), nil
}

// predictions returns the probabilities that a training of Run has predicted for the test rows, with their
// labels. Only trainings on real data keep them: generated test rows differ from seed to seed, so intervals
// over seeds include them.
func (l *Lab) predictions(s *Spec) (probabilities, labels []float32, err error) {
	id, err := s.ID()
	if err != nil {
		return nil, nil, err
	}
	data, err := l.data.open(s.Job.Data)
	if err != nil {
		return nil, nil, err
	}
	if labels = data.Test.Labels; l.log.results[id].Diverged != "" { // counts as a guess
		return slices.Repeat([]float32{0.5}, len(labels)), labels, nil
	}
	probabilities, err = l.log.predictions(id)
	return probabilities, labels, err
}
