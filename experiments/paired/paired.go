// Package paired trains the same job for real and simulated, and measures both by
// the same code: everything but AUC follows from the records of the roles.
package paired

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
	"tandem/datasets"
	"tandem/internal/workload"
	"tandem/runtime/driver"
	"tandem/runtime/numerics"
	"tandem/runtime/train"
	"tandem/sim/cluster"
)

// Run is what one training has shown, in either world.
type Run struct {
	StepSeconds float64        `json:"step_s"`
	Throughput  float64        `json:"samples_per_s"`
	Stages      Stages         `json:"stages"` // zero without roles
	Staleness   pace.Staleness `json:"staleness"`
	AUC         float64        `json:"auc"`
	LogLoss     float64        `json:"log_loss"` // nats
	// Probabilities are the predictions of a real run.
	Probabilities []float32 `json:"-"`
}

// Job is a training with its data.
type Job struct {
	Job     job.Job
	Data    *datasets.Dataset
	Machine backend.Backend // that numbers are computed on
}

// Real trains in this process. The stopwatch may be nil.
func (j *Job) Real(ctx context.Context, progress func(done, steps int), stopwatch driver.Stopwatch) (*Run, error) {
	source, err := datasets.TrainingSource(j.Data, &j.Job)
	if err != nil {
		return nil, err
	}
	c := newClock()
	r, err := train.Run(ctx, j.Job, source, j.Data.Test, train.Options{Machine: j.Machine, Progress: progress, Observer: c, Stopwatch: stopwatch})
	if err != nil {
		return nil, err
	}
	run := &Run{Staleness: r.Staleness, AUC: r.AUC, LogLoss: r.LogLoss, Probabilities: r.Probabilities, Stages: c.medians()}
	run.StepSeconds = r.Wall.Seconds() / float64(r.Steps)
	if j.Job.Training.Mode != job.Sequential { // which records nothing
		run.StepSeconds = c.stepSeconds(j.Job.Roles.Ranks)
	}
	return run.finish(&j.Job)
}

// Simulated trains on a simulated cluster, with numbers.
func (j *Job) Simulated(ctx context.Context, hardware *cluster.Hardware) (*Run, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	source, err := datasets.TrainingSource(j.Data, &j.Job)
	if err != nil {
		return nil, err
	}
	load, layout, err := workload.Counted(j.Data, &j.Job)
	if err != nil {
		return nil, err
	}
	var numbers *numerics.Numerics
	defer func() {
		if numbers != nil {
			numbers.Close()
		}
	}()
	c := newClock()
	watch := &watch{clock: c}
	a, err := cluster.Run(hardware, j.Job, layout, load, cluster.Options{
		Observer: watch,
		Numerics: func(t job.Job) (cluster.Numerics, error) {
			var err error
			if numbers, err = numerics.New(t, source, j.Machine, runtime.GOMAXPROCS(0)); err == nil {
				watch.evaluator = numbers.NewEvaluator(job.Every{}, j.Data.Test)
			}
			return numbers, err
		},
	})
	if err != nil {
		return nil, fmt.Errorf("simulated: %w", err)
	}
	points, err := watch.evaluator.Points(c.last)
	if err != nil {
		return nil, fmt.Errorf("simulated: %w", err)
	}
	last := points[len(points)-1]
	run := &Run{StepSeconds: c.stepSeconds(j.Job.Roles.Ranks), Stages: c.medians(), Staleness: a.Staleness, AUC: last.AUC, LogLoss: last.LogLoss}
	return run.finish(&j.Job)
}

// finish fills in what follows and refuses a training that diverged.
func (r *Run) finish(t *job.Job) (*Run, error) {
	r.Throughput = float64(t.Training.GlobalBatch) / r.StepSeconds
	if r.AUC != r.AUC || r.LogLoss-r.LogLoss != 0 {
		return nil, fmt.Errorf("%s: the training diverged: AUC %v, log loss %v", t.Training.Mode, r.AUC, r.LogLoss)
	}
	return r, nil
}

// watch passes records on to a clock, and to an evaluator once there is one.
type watch struct {
	clock     *clock
	evaluator *numerics.Evaluator
}

// Observe implements event.Observer.
func (w *watch) Observe(r event.Record) {
	w.clock.Observe(r)
	w.evaluator.Observe(r)
}

// seconds of a tick.
func seconds(t unit.Tick) float64 { return time.Duration(t).Seconds() }
