package train

import (
	"sync/atomic"
	"time"

	"tandem/algo/exec/evaluation"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// evaluator predicts the test rows during training. The seconds of a point include
// copying what it needs; predicting goes on beside the training and takes cores
// from it. Rank 0 waits only while rows
// and network are copied. Where predicting takes longer than the interval, an
// evaluation that is due by time waits for the one before; one that is due by
// steps cannot, and so rank 0 does.
type evaluator struct {
	every      job.Every
	source     batch.Source
	test       *batch.Batch
	evaluation *evaluation.TestSet
	start      time.Time

	due           int           // the step before which the next evaluation by steps is due
	step, samples int           // up to which samples are counted
	last          time.Duration // of the latest point, since start
	predicting    atomic.Bool   // a moment is in hand
	pending       chan pendingPoint
	points        chan []evaluation.Point // one item, once moments is closed
}

// moment is a point before its prediction.
type pendingPoint struct {
	point evaluation.Point
	shot  *evaluation.Snapshot
}

// newEvaluator returns an evaluator whose clock starts now. It must be closed.
func newEvaluator(t *job.Job, source batch.Source, test *batch.Batch, set *evaluation.TestSet) *evaluator {
	e := &evaluator{
		every: t.Training.EvaluateEvery, source: source, test: test, evaluation: set, start: time.Now(), due: t.Training.EvaluateEvery.Steps,
		pending: make(chan pendingPoint), points: make(chan []evaluation.Point, 1),
	}
	go e.predict()
	return e
}

// beforeStep takes a snapshot if an evaluation is due, steps having been trained. A rank may pass over steps.
func (e *evaluator) beforeStep(steps int, state evaluation.State) error {
	now := time.Since(e.start)
	due := e.every.Steps > 0 && steps >= e.due ||
		e.every.Time > 0 && now-e.last >= time.Duration(e.every.Time) && !e.predicting.Load()
	if !due || steps == 0 {
		return nil
	}
	e.last = now
	if e.every.Steps > 0 {
		e.due = (steps/e.every.Steps + 1) * e.every.Steps
	}
	shot, err := e.evaluation.Snapshot(state)
	if err != nil {
		return err
	}
	e.predicting.Store(true)
	e.pending <- pendingPoint{e.newPoint(steps, now), shot}
	return nil
}

// newPoint returns a point that is not yet predicted. Copying what it needs is part of
// its seconds; predicting goes on beside the training and takes cores from it.
func (e *evaluator) newPoint(steps int, now time.Duration) evaluation.Point {
	for ; e.step < steps; e.step++ {
		e.samples += e.source.Samples(e.step)
	}
	return evaluation.Point{Step: steps, Samples: e.samples, Seconds: now.Seconds()}
}

// predict is the goroutine beside the training.
func (e *evaluator) predict() {
	points := []evaluation.Point{}
	for m := range e.pending {
		points = append(points, m.point.WithScores(e.evaluation.Predict(m.shot), e.test))
		e.predicting.Store(false)
	}
	e.points <- points
}

// close waits for the predictions in hand and returns all points, in order.
func (e *evaluator) close() []evaluation.Point {
	close(e.pending)
	return <-e.points
}
