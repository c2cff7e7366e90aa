// Package train runs one training job in this process, from the first batch to
// the evaluation of the trained model.
package train

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/exec/evaluation"
	"tandem/algo/exec/reference"
	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/table"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/runtime/driver"
)

// Result is what a run has shown.
type Result struct {
	Job           job.Job       // as run
	Steps         int           // global batches trained
	Samples       int           // samples trained
	Wall          time.Duration // of training; the evaluation after it is not included
	AUC           float64       // of the first label, on the test rows
	LogLoss       float64       // likewise, in nats
	Probabilities []float32     // likewise, predicted, by test row
	Heads         []Head        // the same for every label
	// Curve has the evaluations during training, if the training asks for any,
	// and the one after it.
	Curve     []evaluation.Point
	Staleness pace.Staleness
	// MissedUpdates has, for every row gradient applied, the updates of its row
	// since the read that it was computed from; without roles it stays empty.
	MissedUpdates histogram.Histogram
	// Faults is what the faults of the training have done; sequential training has no messages and no faults.
	Faults fault.Counts
	// DenseDigest and RowsDigest are fingerprints of the trained parameters:
	// equal bits, equal digests, however many PSs held the rows. Where several roles
	// hold the dense network between them, its digest folds theirs.
	DenseDigest, RowsDigest uint64
	Rows                    int        // embedding rows at the end
	RowMemory               unit.Bytes // that they take, with what finds them
	EvictedRows             int        // rows that made room for others
	EvictedGradients        int        // row gradients that found their row evicted
	Processes               int        // that the roles were in
}

// Options are what a run computes with and may be watched with. The zero value is
// the built-in kernels, and watches nothing.
type Options struct {
	Backend backend.Backend
	// Progress is told how many of the steps are trained, by one goroutine at a
	// time.
	Progress func(done, steps int)
	// Observer is told every record of the roles, by one goroutine at a time;
	// sequential training has no roles and no records.
	Observer event.Observer
	// Recorder keeps what a replay needs; sequential training has nothing to
	// record, and Run refuses it.
	Recorder driver.Recorder
	// Stopwatch is told how long the work of roles in this process has taken.
	Stopwatch driver.Stopwatch
	// Cluster, if not nil, has the roles in processes of their own; sequential
	// training has no roles and stays in this one. Observer is told their records
	// after training, and they have no Recorder.
	Cluster Cluster
}

// Run trains and evaluates. When ctx ends first, it stops cleanly and returns
// the cause. Every batch of the source must have at least one sample; test
// has the labels of the source.
func Run(ctx context.Context, t job.Job, source batch.Source, test *batch.Batch, o Options) (*Result, error) {
	if err := t.Validate(); err != nil {
		return nil, fmt.Errorf("training: %w", err)
	}
	if err := checkLabels(source.Schema().Labels, test); err != nil {
		return nil, err
	}
	if t.Training.Mode == job.Sequential && o.Recorder != nil {
		return nil, errNoRoles
	}
	result := &Result{Job: t, Steps: source.Steps(), Samples: samplesOf(source), Processes: 1}
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
	trained, err := runMode(ctx, &t, source, test, o, result)
	if err != nil {
		return nil, err
	}
	probabilities, err := trained.evaluation.Evaluate(trained.state)
	if err != nil {
		return nil, err
	}
	result.Heads = Heads(probabilities, source.Schema().Labels, test)
	result.Probabilities = result.Heads[0].Probabilities
	last := evaluation.Point{Step: result.Steps, Samples: result.Samples, Seconds: result.Wall.Seconds()}
	last = last.WithScores(probabilities, test)
	result.AUC, result.LogLoss, result.Curve = last.AUC, last.LogLoss, append(result.Curve, last)
	return result, nil
}

// errOneClass says that test rows cannot rank anything.
var errOneClass = errors.New("all test rows have the same label, so there is no AUC; choose test rows of both labels")

// errNoRoles says that a recording would be empty.
var errNoRoles = errors.New("sequential training has no roles, so there is nothing to record; record another mode")

// trained is what training leaves behind, beside what is in the result.
type trained struct {
	evaluation *evaluation.TestSet
	state      evaluation.State
}

// fingerprint notes what parameters have become.
func (r *Result) fingerprint(dense uint64, shards []*table.Table) {
	r.DenseDigest = dense
	for _, shard := range shards {
		r.RowsDigest += shard.Digest()
		r.Rows += shard.Len()
		r.RowMemory += shard.Memory()
		r.EvictedRows += shard.Evicted()
		r.EvictedGradients += shard.Outcomes().Evicted
	}
}

func runMode(ctx context.Context, t *job.Job, source batch.Source, test *batch.Batch, o Options, result *Result) (*trained, error) {
	if t.Training.Mode == job.Sequential {
		return runSequential(ctx, t, source, test, o, result)
	}
	if o.Cluster != nil {
		return runCluster(ctx, t, source, test, o, result)
	}
	return runRoles(ctx, t, source, test, o, result)
}

func runSequential(ctx context.Context, t *job.Job, source batch.Source, test *batch.Batch, o Options, result *Result) (*trained, error) {
	q, err := reference.NewDelayed(*t, source, o.Backend)
	if err != nil {
		return nil, err
	}
	trainStep := q.Step
	if !t.Delayed() {
		trainStep = q.Sequential.Step // the reference itself
	}
	evaluation := q.NewTestSet(test)
	e := newEvaluator(t, source, test, evaluation)
	defer func() { result.Curve = e.close() }()
	for step := range result.Steps {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := e.beforeStep(step, q); err != nil {
			return nil, err
		}
		if err := trainStep(step); err != nil {
			return nil, err
		}
		o.Progress(step+1, result.Steps)
	}
	if t.Delayed() {
		if err := q.Finish(); err != nil {
			return nil, err
		}
		result.Staleness, result.MissedUpdates = q.Staleness(), q.Missed()
	}
	result.Wall = time.Since(e.start)
	result.fingerprint(q.Dense().Digest(), []*table.Table{q.Rows()})
	return &trained{evaluation, q}, nil
}

func runRoles(ctx context.Context, t *job.Job, source batch.Source, test *batch.Batch, o Options, result *Result) (*trained, error) {
	executor, err := exec.New(*t, source, o.Backend)
	if err != nil {
		return nil, err
	}
	if err := t.CheckLength(result.Steps); err != nil {
		return nil, err
	}
	cfg, err := t.RoleConfig(executor.Model().Layout(), result.Steps)
	if err != nil {
		return nil, err
	}
	meter := pace.NewMeter(t.Roles.Ranks, t.Roles.EmbeddingPSs)
	observers := []event.Observer{meter, progress{o.Progress, result.Steps}}
	if o.Observer != nil {
		observers = append(observers, o.Observer)
	}
	evaluation := executor.Model().NewTestSet(test)
	e := newEvaluator(t, source, test, evaluation)
	defer func() { result.Curve = e.close() }()
	part, err := driver.NewLocal(cfg, executor, driver.Options{
		Observers: observers, Recorder: o.Recorder, Stopwatch: o.Stopwatch, BeforeStep: e.beforeStep, Faults: &t.Faults,
	}, driver.AllLocal, nil)
	if err != nil {
		return nil, err
	}
	if err := part.Run(ctx, time.Now()); err != nil {
		return nil, err
	}
	result.Wall, result.MissedUpdates, result.Faults = time.Since(e.start), executor.Model().Missed(), part.Injected()
	result.fingerprint(executor.Model().DenseDigest(), executor.Model().Tables())
	return &trained{evaluation, executor.Model()}, result.measured(cfg, meter)
}

// measured notes the staleness of a run, and checks that it kept its mode's bounds.
func (r *Result) measured(cfg *role.Config, meter *pace.Meter) error {
	r.Staleness = meter.Staleness()
	return pace.CheckBounds(cfg.Rule, int(cfg.Ranks), &r.Staleness)
}

// progress counts the steps that rank 0 has trained.
type progress struct {
	report func(done, steps int)
	steps  int
}

// Observe implements event.Observer.
func (p progress) Observe(e event.Record) {
	if e.Kind == event.DenseApplied && e.Rank == 0 {
		p.report(int(e.Step)+1, p.steps)
	}
}
