package train

import (
	"fmt"
	"sync/atomic"
	"time"

	"tandem/algo/exec/evaluation"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// evaluator predicts the test rows during training. Rank 0 waits while the dense network is copied. Within a
// process, PSs copy rows and rows are predicted beside the training, on the same cores; rank 0 of a process
// of its own waits for the rows. If predicting takes longer than the interval, an evaluation that is due by
// time waits until the previous one is done. Evaluations that are due by steps queue; rank 0 waits only if
// waitingMost do.
type evaluator struct {
	every      job.Every
	source     batch.Source
	test       *batch.Batch
	loss       string                 // of the network
	evaluation *evaluation.TestSet    // of the present owners of rows
	report     func(evaluation.Point) // called by predict
	start      time.Time
	begin      int // step at which training begins

	due           int           // step before which the next evaluation by steps is due
	step, samples int           // step, and the number of samples before it
	last          time.Duration // time of the latest point since start
	predicting    atomic.Bool   // a point is being predicted
	failed        atomic.Value  // of type error: why a point could not be predicted
	pending       chan pendingPoint
	points        chan []evaluation.Point // receives all points once pending is closed
}

// pendingPoint is a point whose test rows are not predicted yet.
type pendingPoint struct {
	point evaluation.Point
	set   *evaluation.TestSet
	shot  *evaluation.Snapshot
}

// waitingMost is the number of copies of the model that wait to be predicted, each with the rows of all test
// rows. It bounds memory where training is faster than predicting for long.
const waitingMost = 8

// newEvaluator returns an evaluator of a training that begins at a step. Its clock starts now, and it reports
// every point. It must be closed.
func newEvaluator(t *job.Job, source batch.Source, test *batch.Batch, set *evaluation.TestSet, begin int,
	report func(evaluation.Point)) *evaluator {
	e := &evaluator{
		every: t.Training.EvaluateEvery, loss: t.Model.Loss, source: source, test: test,
		evaluation: set, report: report,
		start: time.Now(), begin: begin,
		pending: make(chan pendingPoint, waitingMost), points: make(chan []evaluation.Point, 1),
	}
	e.plan(begin)
	go e.predict()
	return e
}

// plan sets when the next evaluation by steps after a step is due.
func (e *evaluator) plan(step int) {
	if every := e.every.Steps; every > 0 {
		e.due = (step/every + 1) * every
	}
}

// beforeStep takes a snapshot if an evaluation is due after that number of trained steps. A rank may skip
// steps. It returns why an earlier evaluation has failed.
func (e *evaluator) beforeStep(steps int, state evaluation.State) error {
	if err, failed := e.failed.Load().(error); failed {
		return err
	}
	now := time.Since(e.start)
	due := e.every.Steps > 0 && steps >= e.due ||
		e.every.Time > 0 && now-e.last >= time.Duration(e.every.Time) && !e.predicting.Load()
	if !due || steps == e.begin || steps <= e.step { // training may have begun again before a point
		return nil
	}
	shot, err := e.evaluation.Snapshot(state)
	if err != nil {
		return err // due again when the step is trained again
	}
	e.last = now
	e.plan(steps)
	e.predicting.Store(true)
	e.pending <- pendingPoint{e.newPoint(steps, now), e.evaluation, shot}
	return nil
}

// newPoint returns a point without its scores.
func (e *evaluator) newPoint(steps int, now time.Duration) evaluation.Point {
	for ; e.step < steps; e.step++ {
		e.samples += e.source.Samples(e.step)
	}
	return evaluation.Point{Step: steps, Samples: e.samples, Seconds: now.Seconds()}
}

// predict is the goroutine that predicts beside the training.
func (e *evaluator) predict() {
	points := []evaluation.Point{}
	for m := range e.pending {
		if m.shot.Await() != nil {
			continue // the training has failed, too, and reports why
		}
		predicted, err := m.set.Predict(m.shot)
		if err != nil {
			e.failed.CompareAndSwap(nil, fmt.Errorf("evaluation after %d steps: %w", m.point.Step, err))
			continue
		}
		scored := m.point
		scored.Scores = evaluation.NewScores(e.loss, predicted, e.test, 0)
		points = append(points, scored)
		e.predicting.Store(false)
		e.report(scored)
	}
	e.points <- points
}

// close waits for predictions in progress and returns all points in order.
func (e *evaluator) close() []evaluation.Point {
	close(e.pending)
	return <-e.points
}
