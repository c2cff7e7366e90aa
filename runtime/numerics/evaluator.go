package numerics

import (
	"tandem/algo/exec/evaluation"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/event"
	"tandem/algo/unit"
)

// Evaluator predicts test rows during a simulated training. It is an observer of the records. As in real
// time, it copies the model when rank 0 begins a forward pass. Evaluation creates no row, is not a read of
// the algorithm, and takes no simulated time. The workers predict from the copy.
type Evaluator struct {
	numerics   *Numerics
	every      job.Every
	test       *batch.Batch
	loss       string // of the network
	evaluation *evaluation.TestSet

	latest        unit.Tick
	points        []func() (evaluation.Point, error)
	probabilities []float32 // of the latest point of all that were predicted
	err           error
}

// NewEvaluator returns an evaluator of test rows with one label. It copies the model at intervals of steps or
// of simulated time.
func (n *Numerics) NewEvaluator(every job.Every, test *batch.Batch) *Evaluator {
	return &Evaluator{numerics: n, every: every, test: test, loss: n.loss,
		evaluation: n.executor.Model().NewTestSet(test)}
}

// Observe implements event.Observer.
func (e *Evaluator) Observe(r event.Record) {
	if r.Kind != event.ForwardStarted || r.Rank != 0 || r.Step == 0 {
		return
	}
	if e.every.Steps > 0 && int(r.Step)%e.every.Steps == 0 || e.every.Time > 0 &&
		r.At-e.latest >= e.every.Time {
		e.latest = r.At
		e.addPoint(int(r.Step), r.At)
	}
}

// addPoint copies the model after that number of steps and makes a worker evaluate it.
func (e *Evaluator) addPoint(steps int, at unit.Tick) {
	shot, err := e.evaluation.Snapshot(e.numerics.executor.Model())
	if err != nil {
		e.err = err
		return
	}
	p := evaluation.Point{Step: steps, Seconds: at.Seconds()}
	for step := range steps {
		p.Samples += e.numerics.source.Samples(step)
	}
	done := make(chan struct{})
	var probabilities []float32
	e.numerics.pool.tasks <- func() {
		defer close(done)
		if probabilities, err = e.evaluation.Predict(shot); err == nil {
			p.Scores = evaluation.NewScores(e.loss, probabilities, e.test, 0)
		}
	}
	e.points = append(e.points, func() (evaluation.Point, error) {
		<-done
		e.probabilities = probabilities
		return p, err
	})
}

// Points evaluates the trained model, too, and returns all points in order. The training must have ended; end
// is the time of its end.
func (e *Evaluator) Points(end unit.Tick) ([]evaluation.Point, error) {
	e.addPoint(e.numerics.Steps(), end)
	if e.err != nil {
		return nil, e.err
	}
	var list []evaluation.Point
	for _, wait := range e.points {
		p, err := wait()
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// Probabilities returns the predictions of the trained model, by test row, after Points.
func (e *Evaluator) Probabilities() []float32 { return e.probabilities }
