package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tandem/algo/exec"
	"tandem/algo/exec/evaluation"
	"tandem/algo/exec/reference"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/table"
)

// Arriving is a source whose steps arrive while a model is trained on them. datasets.Stream is one.
type Arriving interface {
	batch.Source
	// Next returns the rows of the block that has a step, and the steps first to end−1 of the block; no rows
	// if the step has not arrived, and io.EOF if it never will. It is called while no step is read, and the
	// steps of the block may be read until it is called again.
	Next(step int) (rows *batch.Batch, first, end int, err error)
}

// Block is how well rows that had just arrived were predicted, before the model was trained on them.
type Block struct {
	First, End int // steps
	Rows       int
	Before     int // rows that this run has trained before
	Heads      []BlockHead
	At         time.Time // when it was predicted
}

// BlockHead is how well a label of a block was predicted. Scores that need rows of both classes are NaN
// without them.
type BlockHead struct {
	Label string
	evaluation.Scores
	// Predicted and Observed are the means, by weight, of predictions and labels.
	Predicted, Observed float64
}

// FollowOptions say what observes a training on rows that arrive.
type FollowOptions struct {
	// Predicted, if not nil, is called with every block before it is trained on.
	Predicted func(Block)
	// Trained, if not nil, is called with the number of steps after every block.
	Trained func(step int)
	// Waiting, if not nil, is called from time to time with the time since the last row was trained on, while
	// there are no others.
	Waiting func(time.Duration)
	// Written, if not nil, waits until the model that was saved last is written, where Options.Save only
	// begins that, and returns why it could not be. It is then saved again when that is due.
	Written func() error
}

// pollEvery is the time after which a source without rows is asked again.
const pollEvery = 100 * time.Millisecond

// Follow trains on rows as they arrive, each once, and predicts every block before (progressive validation).
// Where a block ends, no role has work, and no read of the next block is stale from this one. It ends without
// an error when o.Drain is closed or the source has ended, after o.Save was called. Of o it uses Backend,
// Observer, Progress, Begin, Drain, and what says when the model is saved. A run that continues in the middle
// of a block does not predict that again.
func Follow(ctx context.Context, t job.Job, source Arriving, o Options, f FollowOptions) (*Result, error) {
	if err := t.Validate(); err != nil {
		return nil, fmt.Errorf("training: %w", err)
	}
	if o.Cluster != nil || o.Recorder != nil || o.Order != nil || o.End != 0 {
		return nil, errors.New("a training on rows that arrive has no end, is in one process and is not " +
			"recorded")
	}
	o.interval = &interval{begun: time.Now()}
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
	w := &follower{source: source, options: &o, observed: f, saved: time.Now(), savedStep: o.Begin.Step,
		result: &Result{Job: t, Processes: 1}}
	var err error
	if w.learner, err = newLearner(&t, source, &o, w.result); err != nil {
		return nil, err
	}
	if err := o.restore(w.State(), w.result); err != nil {
		return nil, err
	}
	start := time.Now()
	if err := w.follow(ctx, o.Begin.Step); err != nil {
		return nil, err
	}
	w.result.Wall = time.Since(start)
	w.result.fingerprint(w.digest(), w.tables())
	return w.result, nil
}

// learner is a model that is trained part by part, with nothing on its way between two parts.
type learner interface {
	// trainPart trains the steps first to end−1, or fewer if the options ask it to end, or to save the model,
	// which was saved at some time. It returns the step before which it has ended, and the time that this
	// took after the last step.
	trainPart(ctx context.Context, first, end int, saved time.Time) (ended int, drain time.Duration,
		err error)
	State() exec.State
	predict(rows *batch.Batch) ([]float32, error)
	digest() uint64 // of the dense network
	tables() []*table.Table
}

// newLearner returns the untrained model of a job, which trains with roles unless the mode is sequential.
func newLearner(t *job.Job, source batch.Source, o *Options, result *Result) (learner, error) {
	if t.Training.Mode == job.Sequential {
		q, err := reference.NewSequential(*t, source, o.Backend)
		return &withoutRoles{Sequential: q, options: o}, err
	}
	executor, err := exec.New(*t, source, o.Backend)
	if err != nil {
		return nil, err
	}
	return &withRoles{roles{t, executor, &evaluator{start: time.Now()}, o, result, time.Now()}}, nil
}

// withRoles is a model that roles train.
type withRoles struct{ roles }

func (w *withRoles) trainPart(ctx context.Context, first, end int, saved time.Time) (int, time.Duration,
	error) {
	w.saved = saved
	return w.train(ctx, first, end)
}

func (w *withRoles) State() exec.State { return w.executor.Model().State() }

func (w *withRoles) predict(rows *batch.Batch) ([]float32, error) {
	model := w.executor.Model()
	return model.NewTestSet(rows).Evaluate(model)
}

func (w *withRoles) digest() uint64         { return w.executor.Model().DenseDigest() }
func (w *withRoles) tables() []*table.Table { return w.executor.Model().Tables() }

// withoutRoles is a model that is trained sequentially.
type withoutRoles struct {
	*reference.Sequential
	options *Options
}

func (w *withoutRoles) trainPart(ctx context.Context, first, end int, saved time.Time) (int, time.Duration,
	error) {
	for step := first; step < end; step++ {
		if ctx.Err() != nil {
			return step, 0, context.Cause(ctx)
		}
		if err := w.Step(step); err != nil {
			return step, 0, err
		}
		w.options.Progress(step+1, end)
		if o := w.options; o.drained() || o.byTime() && time.Since(saved) >= o.saveAfter(0) {
			return step + 1, 0, nil
		}
	}
	return end, 0, nil
}

func (w *withoutRoles) State() exec.State { return w.Sequential }

func (w *withoutRoles) predict(rows *batch.Batch) ([]float32, error) {
	return w.NewTestSet(rows).Evaluate(w.Sequential)
}

func (w *withoutRoles) digest() uint64         { return w.Dense().Digest() }
func (w *withoutRoles) tables() []*table.Table { return w.Rows() }

// follower is a training on rows that arrive.
type follower struct {
	learner
	source    Arriving
	options   *Options
	observed  FollowOptions
	result    *Result
	saved     time.Time // when the model was saved, or had not changed since
	savedStep int
}

// follow trains from a step on until it is asked to end.
func (w *follower) follow(ctx context.Context, step int) error {
	for !w.options.drained() {
		rows, first, end, err := w.next(ctx, step)
		if err == nil && rows != nil && step == first {
			err = w.score(rows, first, end)
		}
		if err != nil {
			if ctx.Err() == nil {
				err = errors.Join(err, w.save(step, 0)) // what was trained is not lost
			}
			return err
		}
		if rows == nil {
			break
		}
		if step, err = w.trainBlock(ctx, step, end); err != nil {
			return err
		}
		if w.observed.Trained != nil {
			w.observed.Trained(step)
		}
	}
	return w.save(step, 0)
}

// next waits for the block of a step, and saves the model meanwhile when that is due by time. It returns no
// rows if training is asked to end, or there will be no others.
func (w *follower) next(ctx context.Context, step int) (rows *batch.Batch, first, end int, err error) {
	for begun := time.Now(); ; {
		rows, first, end, err = w.source.Next(step)
		if err == io.EOF {
			return nil, 0, 0, nil
		}
		if rows != nil || err != nil {
			return rows, first, end, err
		}
		if w.observed.Waiting != nil {
			w.observed.Waiting(time.Since(begun))
		}
		if w.dueByTime() {
			if err := w.save(step, 0); err != nil {
				return nil, 0, 0, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, 0, 0, context.Cause(ctx)
		case <-w.options.Drain:
			return nil, 0, 0, nil
		case <-time.After(pollEvery):
		}
	}
}

// score predicts a block and reports how well.
func (w *follower) score(rows *batch.Batch, first, end int) error {
	predictions, err := w.predict(rows)
	if err != nil {
		return err
	}
	loss := w.result.Job.Model.Loss
	b := Block{First: first, End: end, Rows: rows.Samples, Before: w.result.Samples, At: time.Now()}
	labels := w.source.Schema().Labels
	for i, h := range Heads(loss, predictions, labels, rows) {
		b.Heads = append(b.Heads, BlockHead{Label: h.Label, Scores: h.Scores,
			Predicted: metric.WeightedMean(h.Probabilities, rows.Weights),
			Observed:  metric.WeightedMean(batch.Column(rows.Labels, len(labels), i), rows.Weights)})
	}
	if w.observed.Predicted != nil {
		w.observed.Predicted(b)
	}
	return nil
}

// trainBlock trains the steps of a block from a step on, and saves the model when that is due. It returns the
// step before which training has ended: that of the block's end, unless it is asked to end.
func (w *follower) trainBlock(ctx context.Context, step, end int) (int, error) {
	w.options.End = end
	for step < end {
		ended, drain, err := w.trainPart(ctx, step, w.options.segmentEnd(step), w.saved)
		if err != nil {
			return step, err
		}
		for ; step < ended; step++ {
			w.result.Steps++
			w.result.Samples += w.source.Samples(step)
		}
		if every := w.options.SaveEvery; every > 0 && step%every == 0 || w.dueByTime() {
			if err := w.save(step, drain); err != nil {
				return step, err
			}
		}
		if w.options.drained() {
			break
		}
	}
	return step, nil
}

// dueByTime reports whether the model is to be saved because of the time since it was.
func (w *follower) dueByTime() bool {
	return w.options.byTime() && time.Since(w.saved) >= w.options.saveAfter(0)
}

// save saves the model, unless it is saved already.
func (w *follower) save(step int, drain time.Duration) error {
	start := time.Now()
	if w.options.Save == nil || step == w.savedStep && w.written() {
		w.saved = start
		return nil
	}
	if err := w.options.Save(step, w.State()); err != nil {
		return err
	}
	w.saved, w.savedStep = time.Now(), step
	w.options.paused(Pause{Step: step, Drain: drain, Save: time.Since(start)}, w.result)
	w.result.Pauses = nil // they would grow without end
	return nil
}

// written reports whether the model that was saved last is written. Who writes it reports why it is not.
func (w *follower) written() bool { return w.observed.Written == nil || w.observed.Written() == nil }
