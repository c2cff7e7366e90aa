package train

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/exec/evaluation"
	"tandem/algo/exec/frequent"
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
	Job               job.Job       // the job as it was trained
	Steps             int           // global batches trained by this run
	Samples           int           // samples trained by this run
	Wall              time.Duration // of training, with its pauses to save, without the evaluation after it
	evaluation.Scores               // of the first label, on the test rows
	// Probabilities are those predicted for the first label, or numbers with squared loss, by test row.
	Probabilities []float32
	Heads         []Head // scores and predictions of every label
	// Curve has the evaluations during training, if the job asks for any, and the evaluation after it.
	Curve     []evaluation.Point
	Staleness pace.Staleness
	// MissedUpdates counts, for every row gradient that was applied, the updates of its row since the read
	// from which the gradient was computed. It is empty without roles.
	MissedUpdates histogram.Histogram
	// HotRows is the number of rows that were never late, at the end, and HotGradients the number of
	// gradients that were not: those of the hot rows of the ranks or, in sequential training, of rows without
	// delay.
	HotRows      int
	HotGradients uint64
	HotChoices   []HotChoice // those on the way
	// Faults counts the injected faults. Sequential training has no messages and no faults.
	Faults fault.Counts
	// DenseDigest and RowsDigest are digests of the trained parameters. Equal bits have equal digests, for
	// any number of PSs. If several roles hold parts of the dense network, DenseDigest combines their
	// digests.
	DenseDigest, RowsDigest uint64
	Rows                    int            // embedding rows at the end
	RowMemory               unit.Bytes     // memory of the rows and their index
	GPURows                 []exec.GPURows // by rank, if rows are on GPUs of this process
	PSRows                  int            // of Rows, those on PSs of this process
	PSRowMemory             unit.Bytes     // of these, as RowMemory
	IDs                     uint64         // of the batches here, each once, if GPUs have the hot rows
	IDsOnGPUs               uint64         // of IDs, those that name hot rows
	EvictedRows             int            // rows that were evicted to make room for others
	EvictedGradients        int            // row gradients whose row had been evicted
	ExpiredRows             int            // rows that went because no step had read them for long
	ExpiredGradients        int            // row gradients whose row had expired
	Waiting                 int            // ids without rows whose steps are counted, at the end
	WaitingMemory           unit.Bytes     // of these, besides RowMemory
	AppliedGradients        int            // row gradients that have changed their row
	Processes               int            // number of processes with roles
	Pauses                  []Pause        // to save the model on the way
	Recoveries              []Recovery     // from the loss of processes
	Replays                 []Replay       // by which processes have come back with nothing lost
	Notes                   []string       // what does not continue from the model that the run began with
}

// Options say what a run computes with and what observes it. The zero value stands for the built-in kernels
// and no observers.
type Options struct {
	Backend backend.Backend
	// Progress, if not nil, is called with the number of trained steps, by one goroutine at a time. Both
	// count from the first step of the source.
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
	Recorder Recorder
	// Order, if not nil, is the order in which sequential training reads and updates rows.
	Order *reference.Order
	// Stopwatch, if not nil, receives the duration of the work of roles in this process.
	Stopwatch driver.Stopwatch
	// Cluster, if not nil, has the roles in other processes. Sequential training stays in this process.
	// Recorder and Stopwatch are then not used.
	Cluster Cluster
	// Begin says where training begins.
	Begin Begin
	// End, if not 0, is the global step before which training ends; 0 ends with the source.
	End int
	// SaveEvery, if not 0, is a number of global steps. At its multiples between begin and end, training
	// pauses and Save is called with the model. In sync and sequential training this changes no result;
	// in other modes no read after a pause is stale from a batch before it, averaging begins
	// afresh, and gba closes its global batch.
	SaveEvery int
	// SaveAfter, if not 0, is a time after which training pauses in the same way, at the next step that is
	// possible.
	SaveAfter time.Duration
	// SaveAuto makes training choose the time after which it pauses, from the cost of the pauses and the
	// losses of processes: see interval. SaveAfter and SaveEvery must be 0.
	SaveAuto bool
	interval *interval
	// Save is called with the number of global steps trained and with the model, which it must not change.
	Save func(step int, state exec.State) error
	// SaveApart is Save with Cluster. It makes the processes begin to write their parts of the model by a
	// call of export, which is that of TrainedApart but returns at once. Training goes on while they write.
	// Another model that is due by time waits for this one; at a step, and at the end, training waits.
	SaveApart func(step int, model exec.State, export func(folder string) (names []string, err error)) (
		Unfinished, error)
	// Unsaved, if not nil, is called when a model on the way could not be saved by SaveApart, with the
	// reason, which names its folder. Training goes on, and the models before stay. If it is nil, training
	// ends. It ends in any case where it cannot go on without that model: after a request to end, and where
	// rows or roles change their processes.
	Unsaved func(error)
	// FullEvery is the number of saved models of Cluster of which one has all rows; the others write those
	// that have changed since the one before: see checkpoint.Chain. With 0 or 1, all have all rows.
	FullEvery int
	// Paused, if not nil, is called after each Save.
	Paused func(Pause)
	// RestartsMax is how often training may begin again from one saved model, or untrained from the
	// beginning, when processes of Cluster are lost; with 0, a loss ends the training. Steps that are trained
	// again are not evaluated again.
	RestartsMax int
	// SetAside is called with the folder of a saved model that a process cannot read, before training begins
	// again from an earlier one; its error ends training. It must not be nil if RestartsMax and SaveApart are
	// set. checkpoint.SetAside is one.
	SetAside func(folder string) error
	// Lost, if not nil, is called when processes are lost and training is to begin again. Its Down is 0.
	Lost func(Recovery)
	// Drain, if not nil, is closed to end training as soon as possible. Run then calls Save, unless it is
	// nil, and returns a *DrainedError, unless all steps were trained.
	Drain <-chan struct{}
}

// Recorder records the roles of a training.
type Recorder interface {
	driver.Recorder
	// BeginAt is called before the roles begin at a global step, which they count as step 0: at step 0, and
	// wherever the hot rows are chosen again.
	BeginAt(step int) error
}

// Run trains and evaluates. If ctx ends first, Run stops all goroutines and returns the cause. Every batch of
// the source must have at least one sample; test must have the labels of the source. Weights of ids that
// batch.Schema.CheckWeights refuses end the training with its error, in every mode.
func Run(ctx context.Context, t job.Job, source batch.Source, test *batch.Batch, o Options) (*Result, error) {
	if err := t.Validate(); err != nil {
		return nil, fmt.Errorf("training: %w", err)
	}
	if err := checkLabels(t.Model.Loss, source.Schema().Labels, test); err != nil {
		return nil, err
	}
	if err := source.Schema().CheckWeights(test.Slots); err != nil {
		return nil, fmt.Errorf("test rows: %w", err)
	}
	if t.Training.Mode == job.Sequential && o.Recorder != nil {
		return nil, errNoRoles
	}
	if t.Training.Mode != job.Sequential && o.Order != nil {
		return nil, errOwnOrder
	}
	if err := o.checkSegments(&t, source.Steps()); err != nil {
		return nil, err
	}
	if err := frequent.Choose(&t, source, o.Begin.Step); err != nil {
		return nil, err
	}
	before, trainedSamples := samplesBefore(source, o.Begin.Step), samplesBefore(source, o.End)
	result := &Result{Job: t, Steps: o.End - o.Begin.Step, Samples: trainedSamples - before, Processes: 1}
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
	probabilities, err := runMode(ctx, &t, source, test, o, result)
	if err != nil {
		return nil, err
	}
	result.Heads = Heads(t.Model.Loss, probabilities, source.Schema().Labels, test)
	result.Probabilities = result.Heads[0].Probabilities
	result.Scores = result.Heads[0].Scores
	last := evaluation.Point{Step: o.End, Samples: trainedSamples, Seconds: result.Wall.Seconds(),
		Scores: result.Scores}
	result.Curve = append(result.Curve, last)
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

// fingerprint sets the digests and sizes of the trained parameters.
func (r *Result) fingerprint(dense uint64, shards []*table.Table) {
	r.DenseDigest = dense
	for _, shard := range shards {
		r.RowsDigest += shard.Digest()
		r.Rows += shard.Len()
		r.RowMemory += shard.Memory()
		rows, gradients := &r.EvictedRows, &r.EvictedGradients
		if shard.Expires() {
			rows, gradients = &r.ExpiredRows, &r.ExpiredGradients
		}
		*rows += shard.Evicted()
		*gradients += shard.Outcomes().Evicted
		r.Waiting += shard.CandidateCount()
		r.WaitingMemory += shard.CandidateMemory()
		r.AppliedGradients += shard.Outcomes().Applied
	}
}

// runMode trains, and returns the predictions of the trained model for the test rows.
func runMode(ctx context.Context, t *job.Job, source batch.Source, test *batch.Batch, o Options,
	result *Result) (probabilities []float32, err error) {
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
	result *Result) (probabilities []float32, err error) {
	q, err := reference.NewDelayed(*t, source, o.Backend)
	if err != nil {
		return nil, err
	}
	if err := o.restore(q, result); err != nil {
		return nil, err
	}
	trainStep := q.Step
	if !t.Delayed() {
		trainStep = q.Sequential.Step // the reference itself
	}
	evaluation := q.NewTestSet(test)
	e := newEvaluator(t, source, test, evaluation, o.Begin.Step, o.Evaluated)
	defer func() { result.Curve = e.close() }()
	paused := time.Now()
	for step := o.Begin.Step; step < o.End; step++ {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := e.beforeStep(step, q); err != nil {
			return nil, err
		}
		if err := trainStep(step); err != nil {
			return nil, err
		}
		o.Progress(step+1, o.End)
		drained := o.drained() && step+1 < o.End
		if drained || o.segmentEnd(step) == step+1 || o.byTime() && time.Since(paused) >= o.saveAfter(0) {
			if err := o.pause(step+1, 0, q, result); err != nil {
				return nil, err
			}
			paused = time.Now()
		}
		if drained {
			return nil, &DrainedError{step + 1}
		}
	}
	if t.Delayed() {
		if err := q.Finish(); err != nil {
			return nil, err
		}
		result.Staleness, result.MissedUpdates = q.Staleness(), q.Missed()
		result.HotRows, result.HotGradients = q.Hot()
	}
	result.Wall = time.Since(e.start)
	result.fingerprint(q.Dense().Digest(), q.Rows())
	if err := o.Trained(q); err != nil {
		return nil, err
	}
	return evaluation.Evaluate(q)
}

func runOrdered(ctx context.Context, t *job.Job, source batch.Source, test *batch.Batch, o Options,
	result *Result) (probabilities []float32, err error) {
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
	result.fingerprint(q.Dense().Digest(), q.Rows())
	if err := o.Trained(q); err != nil {
		return nil, err
	}
	return q.NewTestSet(test).Evaluate(q)
}

// measured adds the staleness of a run of roles, and checks that the run kept its mode's bounds.
func (r *Result) measured(cfg *role.Config, meter *pace.Meter) error {
	staleness := meter.Staleness()
	r.Staleness.Merge(&staleness)
	return pace.CheckBounds(cfg.Rule, int(cfg.Ranks), &staleness)
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
