// Package train trains one job, from the first batch to the evaluation of the trained model.
//
// A program needs a job (package job), a source of training batches (batch.Source) and a batch of test rows.
// The example of this package makes all three in memory:
//
//	result, err := train.Run(ctx, j, source, test, train.Options{})
//	fmt.Println(result.AUC, result.LogLoss)
//
// Run trains in this process, with one goroutine for each role and each lane of its work (package driver).
// Sequential training, the reference, has no roles. With Options.Cluster the roles are in other processes;
// package process has such a Cluster.
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

// Result is the outcome of a run.
type Result struct {
	Job           job.Job       // the job as it was trained
	Steps         int           // global batches trained
	Samples       int           // samples trained
	Wall          time.Duration // of training, without the evaluation after it
	AUC           float64       // of the first label, on the test rows
	LogLoss       float64       // of the first label, on the test rows, in nats
	Probabilities []float32     // predicted for the first label, by test row
	Heads         []Head        // AUC, log loss and probabilities of every label
	// Curve has the evaluations during training, if the job asks for any, and the evaluation after it.
	Curve     []evaluation.Point
	Staleness pace.Staleness
	// MissedUpdates counts, for every row gradient that was applied, the updates of its row since the read
	// from which the gradient was computed. It is empty without roles.
	MissedUpdates histogram.Histogram
	// HotRows is the number of rows that a sequential training updated without delay, and HotGradients the
	// number of their gradients; both are 0 unless the job has a threshold.
	HotRows      int
	HotGradients uint64
	// Faults counts the injected faults. Sequential training has no messages and no faults.
	Faults fault.Counts
	// DenseDigest and RowsDigest are digests of the trained parameters. Equal bits have equal digests, for
	// any number of PSs. If several roles hold parts of the dense network, DenseDigest combines their
	// digests.
	DenseDigest, RowsDigest uint64
	Rows                    int        // embedding rows at the end
	RowMemory               unit.Bytes // memory of the rows and their index
	EvictedRows             int        // rows that were evicted to make room for others
	EvictedGradients        int        // row gradients whose row had been evicted
	Processes               int        // number of processes with roles
}

// Options say what a run computes with and what observes it. The zero value stands for the built-in kernels
// and no observers.
type Options struct {
	Backend backend.Backend
	// Progress, if not nil, is called with the number of trained steps, by one goroutine at a time.
	Progress func(done, steps int)
	// Evaluated, if not nil, is called with every point of the curve, in order, as soon as it is known.
	Evaluated func(evaluation.Point)
	// Trained, if not nil, is called with the trained model, which is in this process: not with Cluster.
	Trained func(exec.State) error
	// TrainedApart, if not nil, is called instead of Trained with Cluster. The model has the schema and the
	// layout of the trained one, but no part of it: export makes the processes write their parts, as
	// Cluster.Export does.
	TrainedApart func(model exec.State, export func(folder string) (names []string, err error)) error
	// Observer, if not nil, receives every record of the roles, from one goroutine at a time. Sequential
	// training has no roles and no records.
	Observer event.Observer
	// Recorder, if not nil, records what a replay needs. Run refuses to record sequential training, which has
	// no roles.
	Recorder driver.Recorder
	// Order, if not nil, is the order in which sequential training reads and updates rows.
	Order *reference.Order
	// Stopwatch, if not nil, receives the duration of the work of roles in this process.
	Stopwatch driver.Stopwatch
	// Cluster, if not nil, has the roles in other processes. Sequential training stays in this process.
	// Observer then receives the records after training; Recorder and Stopwatch are not used.
	Cluster Cluster
}

// Run trains and evaluates. If ctx ends first, Run stops all goroutines and returns the cause. Every batch of
// the source must have at least one sample; test must have the labels of the source.
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
	if t.Training.Mode != job.Sequential && o.Order != nil {
		return nil, errOwnOrder
	}
	result := &Result{Job: t, Steps: source.Steps(), Samples: samplesOf(source), Processes: 1}
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
	if o.Evaluated == nil {
		o.Evaluated = func(evaluation.Point) {}
	}
	if o.Trained == nil {
		o.Trained = func(exec.State) error { return nil }
	}
	if o.TrainedApart == nil {
		o.TrainedApart = func(exec.State, func(string) ([]string, error)) error { return nil }
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
	o.Evaluated(last)
	return result, nil
}

// errOneClass says that the test rows have no AUC.
var errOneClass = errors.New("all test rows have the same label, so there is no AUC; choose test rows of " +
	"both labels")

// errOwnOrder says that only sequential training follows an order.
var errOwnOrder = errors.New("a training with roles reads and updates rows in its own order; follow a " +
	"recorded one in mode sequential")

// errNoRoles says that a recording would be empty.
var errNoRoles = errors.New("sequential training has no roles, so there is nothing to record; record " +
	"another mode")

// trained is the trained model, for its evaluation.
type trained struct {
	evaluation *evaluation.TestSet
	state      evaluation.State
}

// fingerprint sets the digests and sizes of the trained parameters.
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

func runMode(ctx context.Context, t *job.Job, source batch.Source, test *batch.Batch, o Options,
	result *Result) (*trained, error) {
	if t.Training.Mode == job.Sequential && o.Order != nil {
		return runOrdered(ctx, t, source, test, o, result)
	}
	if t.Training.Mode == job.Sequential {
		return runSequential(ctx, t, source, test, o, result)
	}
	if o.Cluster != nil {
		return runCluster(ctx, t, source, test, o, result)
	}
	return runRoles(ctx, t, source, test, o, result)
}

func runSequential(ctx context.Context, t *job.Job, source batch.Source, test *batch.Batch, o Options,
	result *Result) (*trained, error) {
	q, err := reference.NewDelayed(*t, source, o.Backend)
	if err != nil {
		return nil, err
	}
	trainStep := q.Step
	if !t.Delayed() {
		trainStep = q.Sequential.Step // the reference itself
	}
	evaluation := q.NewTestSet(test)
	e := newEvaluator(t, source, test, evaluation, o.Evaluated)
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
		result.HotRows, result.HotGradients = q.Hot()
	}
	result.Wall = time.Since(e.start)
	result.fingerprint(q.Dense().Digest(), []*table.Table{q.Rows()})
	return &trained{evaluation, q}, o.Trained(q)
}

func runOrdered(ctx context.Context, t *job.Job, source batch.Source, test *batch.Batch, o Options,
	result *Result) (*trained, error) {
	q, err := reference.NewOrdered(*t, source, o.Backend, o.Order)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	for step := range result.Steps {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := q.Step(step); err != nil {
			return nil, err
		}
		o.Progress(step+1, result.Steps)
	}
	result.Wall, result.MissedUpdates = time.Since(start), q.Missed()
	result.fingerprint(q.Dense().Digest(), []*table.Table{q.Rows()})
	return &trained{q.NewTestSet(test), q}, o.Trained(q)
}

func runRoles(ctx context.Context, t *job.Job, source batch.Source, test *batch.Batch, o Options,
	result *Result) (*trained, error) {
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
	e := newEvaluator(t, source, test, evaluation, o.Evaluated)
	defer func() { result.Curve = e.close() }()
	part, err := driver.NewLocal(cfg, executor, driver.Options{
		Observers: observers, Recorder: o.Recorder, Stopwatch: o.Stopwatch, BeforeStep: e.beforeStep,
		Faults: &t.Faults,
	}, driver.AllLocal, nil)
	if err != nil {
		return nil, err
	}
	if err := part.Run(ctx, time.Now()); err != nil {
		return nil, err
	}
	result.Wall, result.MissedUpdates, result.Faults = time.Since(e.start), executor.Model().Missed(),
		part.Injected()
	result.fingerprint(executor.Model().DenseDigest(), executor.Model().Tables())
	return &trained{evaluation, executor.Model()}, errors.Join(result.measured(cfg, meter),
		o.Trained(executor.Model().State()))
}

// measured sets the staleness of a run, and checks that the run kept its mode's bounds.
func (r *Result) measured(cfg *role.Config, meter *pace.Meter) error {
	r.Staleness = meter.Staleness()
	return pace.CheckBounds(cfg.Rule, int(cfg.Ranks), &r.Staleness)
}

// progress reports the steps that rank 0 has trained.
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
