package train

import (
	"sync/atomic"
	"time"

	"tandem/algo/batch"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/work"
)

// Point is one evaluation, during training or after it.
type Point struct {
	Step    int `json:"step"`    // steps trained
	Samples int `json:"samples"` // that these had
	// Seconds since training began. Copying what a point needs is part of that
	// time; predicting goes on beside the training and takes cores from it.
	Seconds float64 `json:"seconds"`
	AUC     float64 `json:"auc"`
	LogLoss float64 `json:"log_loss"` // nats
}

// evaluator predicts the test rows during training. Rank 0 waits only while rows
// and network are copied. Where predicting takes longer than the interval, an
// evaluation that is due by time waits for the one before; one that is due by
// steps cannot, and so rank 0 does.
type evaluator struct {
	every      job.Every
	source     batch.Source
	test       *batch.Batch
	evaluation *work.Evaluation
	start      time.Time

	step, samples int           // up to which samples are counted
	last          time.Duration // of the latest point, since start
	predicting    atomic.Bool   // a moment is in hand
	moments       chan moment
	points        chan []Point // one item, once moments is closed
}

// moment is a point before its prediction.
type moment struct {
	point Point
	shot  *work.Snapshot
}

// newEvaluator returns an evaluator whose clock starts now. It must be closed.
func newEvaluator(t *job.Training, source batch.Source, test *batch.Batch, evaluation *work.Evaluation) *evaluator {
	e := &evaluator{
		every: t.EvaluateEvery, source: source, test: test, evaluation: evaluation, start: time.Now(),
		moments: make(chan moment), points: make(chan []Point, 1),
	}
	go e.predict()
	return e
}

// beforeStep takes a snapshot if an evaluation is due, steps having been trained.
func (e *evaluator) beforeStep(steps int, state work.State) error {
	now := time.Since(e.start)
	due := e.every.Steps > 0 && steps%e.every.Steps == 0 ||
		e.every.Time > 0 && now-e.last >= time.Duration(e.every.Time) && !e.predicting.Load()
	if !due || steps == 0 {
		return nil
	}
	e.last = now
	shot, err := e.evaluation.Snapshot(state)
	if err != nil {
		return err
	}
	e.predicting.Store(true)
	e.moments <- moment{e.at(steps, now), shot}
	return nil
}

// at returns a point that is not yet predicted.
func (e *evaluator) at(steps int, now time.Duration) Point {
	for ; e.step < steps; e.step++ {
		e.samples += e.source.Samples(e.step)
	}
	return Point{Step: steps, Samples: e.samples, Seconds: now.Seconds()}
}

// predict is the goroutine beside the training.
func (e *evaluator) predict() {
	points := []Point{}
	for m := range e.moments {
		points = append(points, m.point.measured(e.evaluation.Predict(m.shot), e.test))
		e.predicting.Store(false)
	}
	e.points <- points
}

// measured returns the point with the quality of its predictions of the first
// label.
func (p Point) measured(probabilities []float32, test *batch.Batch) Point {
	labels := len(test.Labels) / test.Samples
	predicted, truth := batch.Column(probabilities, labels, 0), batch.Column(test.Labels, labels, 0)
	p.AUC, p.LogLoss = metric.AUC(predicted, truth), metric.LogLoss(predicted, truth)
	return p
}

// close waits for the predictions in hand and returns all points, in order.
func (e *evaluator) close() []Point {
	close(e.moments)
	return <-e.points
}
