package main

import (
	"errors"
	"fmt"
	"slices"

	"tandem/algo/exec/evaluation"
	"tandem/algo/exec/frequent"
	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/event"
	"tandem/datasets"
	"tandem/internal/cli"
	"tandem/runtime/numerics"
	"tandem/sim/cluster"
)

// training is one training under simulated time.
type training struct {
	position float64 // in the ranges of the hardware
	answer   cluster.Result
	trained  numerics.Trained
	points   []evaluation.Point // evaluations, the last after training
	every    job.Every          // how often it was evaluated
}

// seconds is the simulated time of the whole training.
func (t *training) seconds() float64 { return t.answer.Elapsed.Seconds() }

// end is the evaluation after training.
func (t *training) end() evaluation.Point { return t.points[len(t.points)-1] }

// reached returns the first evaluation with at least this AUC; nil if there is none.
func (t *training) reached(auc float64) *evaluation.Point {
	i := slices.IndexFunc(t.points, func(p evaluation.Point) bool { return p.AUC >= auc })
	if i < 0 {
		return nil
	}
	return &t.points[i]
}

// before returns the last evaluation after at most this number of steps; nil if there is none.
func (t *training) before(steps int) *evaluation.Point {
	for i := len(t.points) - 1; i >= 0; i-- {
		if t.points[i].Step <= steps {
			return &t.points[i]
		}
	}
	return nil
}

// cell is a mode on a number of GPUs, trained at the middle of all ranges and
// then, if ranges are asked for, at their ends.
type cell struct {
	mode      string
	gpus      int
	trainings []*training
}

// middle returns the training at the middle of the ranges.
func (l *cell) middle() *training { return l.trainings[0] }

// span returns the range of a number over all trainings, and whether all have the number.
func (l *cell) span(number func(*training) (float64, bool)) (low, high float64, all bool) {
	var list []float64
	for _, t := range l.trainings {
		if x, ok := number(t); ok {
			list = append(list, x)
		}
	}
	if len(list) < len(l.trainings) {
		return 0, 0, false
	}
	return slices.Min(list), slices.Max(list), true
}

// seconds returns the range of the simulated time.
func (l *cell) seconds() (low, high float64) {
	low, high, _ = l.span(func(t *training) (float64, bool) { return t.seconds(), true })
	return low, high
}

// secondsTo returns the range of the simulated time to an AUC; reached is false if a training
// never reaches it.
func (l *cell) secondsTo(auc float64) (low, high float64, reached bool) {
	return l.span(func(t *training) (float64, bool) {
		if p := t.reached(auc); p != nil {
			return p.Seconds, true
		}
		return 0, false
	})
}

// pointsWanted is the number of evaluations of a training by default.
const pointsWanted = 16

// positions are the positions in the ranges of what is not known that are simulated: the middle and, except
// for a training without spread, the worst and the best end.
func (q *request) positions() []float64 {
	if q.kind == trained && !q.spread {
		return []float64{0}
	}
	return []float64{0, -1, 1}
}

// train trains in every mode, on every number of GPUs.
func (q *request) train(progress *cli.Progress) ([]*cell, error) {
	at := q.positions()
	const parts = 1000 // of a training, on the progress bar
	var cells []*cell
	total, done := len(q.modes)*len(q.gpus)*len(at)*parts, 0
	for _, mode := range q.modes {
		for _, n := range q.gpus {
			l := &cell{mode: mode, gpus: n}
			for _, position := range at {
				t, err := q.trainAt(q.jobFor(mode, n), position, func(step, steps int) {
					progress.Show(done+parts*step/steps, total, fmt.Sprintf("%s on %d", mode, n))
				})
				if err != nil {
					return nil, fmt.Errorf("%s on %d: %w", mode, n, err)
				}
				l.trainings = append(l.trainings, t)
				done += parts
			}
			cells = append(cells, l)
		}
	}
	return cells, nil
}

// errNoAUC is the error for test rows without an AUC.
var errNoAUC = errors.New("there is no AUC, because all test rows have the same label or predictions are " +
	"not finite")

// trainAt trains once, at a position of the ranges.
func (q *request) trainAt(j job.Job, position float64, progress func(step, steps int)) (*training, error) {
	source, err := datasets.TrainingSource(q.data, &j)
	if err != nil {
		return nil, err
	}
	if err := frequent.Choose(&j, source, 0); err != nil {
		return nil, err
	}
	if !j.Training.EvaluateEvery.Any() {
		j.Training.EvaluateEvery.Steps = max(1, source.Steps()/pointsWanted)
	}
	var numbers *numerics.Numerics
	defer func() {
		if numbers != nil {
			numbers.Close()
		}
	}()
	w := &watch{progress: func(step int) { progress(step, source.Steps()) }}
	o := q.options()
	o.Observer = w
	o.Numerics = func(j job.Job) (cluster.Numerics, error) {
		var err error
		if numbers, err = numerics.New(j, source, q.machine, q.workers); err != nil {
			return nil, err
		}
		w.evaluator = numbers.NewEvaluator(j.Training.EvaluateEvery, q.data.Test)
		return numbers, nil
	}
	hardware := q.hardware.At(q.hardware.Parameters().Everywhere(position))
	r := &training{position: position, every: j.Training.EvaluateEvery}
	if r.answer, err = cluster.Run(hardware, j, q.layout, q.workload, o); err != nil {
		return nil, err
	}
	if r.points, err = w.evaluator.Points(r.answer.Elapsed); err != nil {
		return nil, err
	}
	for _, p := range r.points {
		if p.AUC != p.AUC || p.LogLoss-p.LogLoss != 0 {
			return nil, errNoAUC
		}
	}
	r.trained, err = numbers.Trained()
	return r, err
}

// watch passes the records of a training to its evaluator, and reports the progress of rank 0.
type watch struct {
	evaluator *numerics.Evaluator
	progress  func(step int)
}

// Observe implements event.Observer.
func (w *watch) Observe(r event.Record) {
	w.evaluator.Observe(r)
	if r.Kind == event.ForwardStarted && r.Rank == 0 {
		w.progress(int(r.Step))
	}
}

// checkTraining refuses settings that no training can have.
func (q *request) checkTraining(given func(string) bool) error {
	switch {
	case q.kind != trained:
		return nil
	case q.job.Model.Loss == model.SquaredLoss:
		return cli.UsageError("train it with go run ./cmd/train, which reports RMSE and R²",
			"sim train reports AUC, and model.loss is squared")
	case q.workers < 1:
		return cli.UsageError("see --help", "--workers: %d; want at least 1", q.workers)
	case given("target-auc") && !(q.target > 0 && q.target < 1):
		return cli.UsageError("see --help", "--target-auc: %v; want above 0 and below 1", q.target)
	case given("evaluate-every"):
		if err := q.job.Training.EvaluateEvery.UnmarshalText([]byte(q.every)); err != nil {
			return cli.UsageError("see --help", "--evaluate-every: %v", err)
		}
	}
	return nil
}
