// Package paired runs the same job on this machine and in the simulator and measures both runs with the same
// code: everything except AUC and log loss follows from the events that the roles record.
//
//	setup := &paired.Setup{Job: j, Data: data}
//	real, err := setup.RunReal(ctx, nil, nil)
//	persia := job.PersiaCluster()
//	hardware, err := cluster.Load(&persia)
//	simulated, err := setup.RunSimulated(ctx, hardware)
//
// A Calibration measures how long each kind of work takes in a real run, and returns this machine as a
// cluster for the simulator.
package paired

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/evaluation"
	"tandem/algo/exec/frequent"
	"tandem/algo/exec/reference"
	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
	"tandem/datasets"
	"tandem/internal/workload"
	"tandem/runtime/driver"
	"tandem/runtime/numerics"
	"tandem/runtime/train"
	"tandem/sim/cluster"
	"tandem/sim/cost"
)

// Run is the result of one training, real or simulated.
type Run struct {
	StepSeconds float64 `json:"step_s"`
	Throughput  float64 `json:"samples_per_s"`
	// CPUSeconds is the time that all cores have worked for a real step; 0 where the system does
	// not say. Messages is the number of messages of a simulated step.
	CPUSeconds float64        `json:"cpu_s,omitempty"`
	Messages   int64          `json:"messages,omitempty"`
	Stages     Stages         `json:"stages"` // zero in sequential training, which has no roles
	Staleness  pace.Staleness `json:"staleness"`
	AUC        float64        `json:"auc"`
	LogLoss    float64        `json:"log_loss"` // nats
	// Curve has the evaluations of a run, if its job asks for some during training; the last is after
	// training. Seconds are simulated where the run is.
	Curve []evaluation.Point `json:"-"`
	// Missed counts, for every row gradient, the updates of its row between read and update.
	Missed histogram.Histogram `json:"-"`
	// HotRows and HotGradients are the numbers of rows that were never late, and of their gradients.
	HotRows      int    `json:"-"`
	HotGradients uint64 `json:"-"`
	// Order is the order of reads and updates of rows, if it was recorded.
	Order *reference.Order `json:"-"`
	// Probabilities are the predictions on the test rows.
	Probabilities []float32 `json:"-"`
}

// Setup is a job with its data and the machine that computes it.
type Setup struct {
	Job     job.Job
	Data    *datasets.Dataset
	Source  batch.Source // the batches to train on; nil: those of Data, as the job orders them
	Backend backend.Backend
	// Order, if not nil, is the order in which a sequential training reads and updates rows.
	Order *reference.Order
	// RecordOrder records the order in which a real training with roles does so.
	RecordOrder bool
}

// source returns the batches to train on.
func (s *Setup) source() (batch.Source, error) {
	if s.Source != nil {
		return s.Source, nil
	}
	return datasets.TrainingSource(s.Data, &s.Job)
}

// interruptible is a source that has no more batches when its context is over: a simulation, which waits for
// nothing, asks for no context.
type interruptible struct {
	batch.Source
	ctx context.Context
}

// Read implements batch.Source.
func (s interruptible) Read(step int) (*batch.Batch, error) {
	if s.ctx.Err() != nil {
		return nil, context.Cause(s.ctx)
	}
	return s.Source.Read(step)
}

// ErrDiverged is wrapped by the error of a run whose model predicts no numbers.
var ErrDiverged = errors.New("the training diverged")

// RunReal trains in this process. progress and stopwatch may be nil.
func (s *Setup) RunReal(
	ctx context.Context, progress func(done, steps int), stopwatch driver.Stopwatch,
) (*Run, error) {
	source, err := s.source()
	if err != nil {
		return nil, err
	}
	c := newStageClock()
	c.cpu = cpuTime
	o := train.Options{
		Backend: s.Backend, Progress: progress, Observer: c, Stopwatch: stopwatch, Order: s.Order,
	}
	var recorder *reference.OrderRecorder
	if s.RecordOrder {
		recorder = reference.NewOrderRecorder(s.Job.Roles.Ranks, s.Job.Roles.EmbeddingPSs)
		o.Observer = observe(func(r event.Record) {
			c.Observe(r)
			recorder.Observe(r)
		})
	}
	r, err := train.Run(ctx, s.Job, source, s.Data.Test, o)
	if err != nil {
		return nil, err
	}
	run := &Run{
		Stages: c.medians(), Staleness: r.Staleness,
		AUC: r.AUC, LogLoss: r.LogLoss, Missed: r.MissedUpdates, HotRows: r.HotRows,
		HotGradients: r.HotGradients, Probabilities: r.Probabilities,
	}
	if recorder != nil {
		run.Order = recorder.Order()
	}
	if s.Job.Training.EvaluateEvery.Any() {
		run.Curve = r.Curve
	}
	run.StepSeconds = r.Wall.Seconds() / float64(r.Steps)
	if s.Job.Training.Mode != job.Sequential { // sequential training records no events
		run.StepSeconds, run.CPUSeconds = c.stepSeconds(s.Job.Roles.Ranks)
	}
	return run.finish(&s.Job)
}

// RunSimulated trains on a simulated cluster, which computes the parameters as well as the times. It
// evaluates during training as often as the job says.
func (s *Setup) RunSimulated(ctx context.Context, hardware *cost.Hardware) (*Run, error) {
	source, err := s.source()
	if err != nil {
		return nil, err
	}
	source = interruptible{source, ctx}
	if err := frequent.Choose(&s.Job, source, 0); err != nil {
		return nil, err
	}
	load, layout, err := workload.Counted(s.Data, &s.Job)
	if err != nil {
		return nil, err
	}
	var numbers *numerics.Numerics
	var evaluator *numerics.Evaluator
	defer func() {
		if numbers != nil {
			numbers.Close()
		}
	}()
	c := newStageClock()
	a, err := cluster.Run(hardware, s.Job, layout, load, cluster.Options{
		Observer: observe(func(r event.Record) {
			c.Observe(r)
			evaluator.Observe(r)
		}),
		Numerics: func(t job.Job) (cluster.Numerics, error) {
			var err error
			if numbers, err = numerics.New(t, source, s.Backend, runtime.GOMAXPROCS(0)); err == nil {
				evaluator = numbers.NewEvaluator(s.Job.Training.EvaluateEvery, s.Data.Test)
			}
			return numbers, err
		},
	})
	if err != nil {
		return nil, fmt.Errorf("simulated: %w", err)
	}
	points, err := evaluator.Points(c.last)
	if err != nil {
		return nil, fmt.Errorf("simulated: %w", err)
	}
	trained, err := numbers.Trained()
	if err != nil {
		return nil, fmt.Errorf("simulated: %w", err)
	}
	last := points[len(points)-1]
	step, _ := c.stepSeconds(s.Job.Roles.Ranks)
	run := &Run{
		StepSeconds: step, Messages: a.Messages, Stages: c.medians(), Staleness: a.Staleness,
		AUC: last.AUC, LogLoss: last.LogLoss, Probabilities: evaluator.Probabilities(),
		Missed: trained.Missed, HotGradients: trained.HotGradients, HotRows: s.Job.ShardPlan().Hot().Len(),
	}
	if s.Job.Training.EvaluateEvery.Any() {
		run.Curve = points
	}
	return run.finish(&s.Job)
}

// finish sets the throughput. It returns an error if the training diverged.
func (r *Run) finish(t *job.Job) (*Run, error) {
	r.Throughput = float64(t.Training.GlobalBatch) / r.StepSeconds
	if r.AUC != r.AUC || r.LogLoss-r.LogLoss != 0 {
		return nil, fmt.Errorf("%s: %w: AUC %v, log loss %v", t.Training.Mode, ErrDiverged, r.AUC, r.LogLoss)
	}
	return r, nil
}

// observe is a function that implements event.Observer.
type observe func(r event.Record)

// Observe implements event.Observer.
func (f observe) Observe(r event.Record) { f(r) }

// seconds converts a tick to seconds.
func seconds(t unit.Tick) float64 { return time.Duration(t).Seconds() }
