package train

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tandem/algo/exec"
	"tandem/algo/exec/evaluation"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
	"tandem/runtime/driver"
)

// Begin says where a training begins. The zero value begins at step 0 with an untrained model.
type Begin struct {
	Step int // the first global batch of the source that is trained
	// Model, if not nil, has the model before the first step.
	Model Restorer
	// Folder is the folder of Model, as the processes of Options.Cluster reach it. Each restores its part.
	Folder string
}

// Restorer has a trained model. checkpoint.Checkpoint is one.
type Restorer interface {
	// Restore replaces an untrained state, so that training continues where the training of the model ended.
	// Notes say what does not continue.
	Restore(state exec.State) (notes []string, err error)
}

// checkSegments returns an error unless a training can begin, end and be saved as the options say. It sets
// the end that they leave out, and begins to measure what SaveAuto needs.
func (o *Options) checkSegments(t *job.Job, steps int) error {
	whole := o.Begin.Step == 0 && o.Begin.Model == nil && (o.End == 0 || o.End == steps) &&
		o.Save == nil && o.SaveEvery == 0 && !o.byTime()
	if o.End == 0 {
		o.End = steps
	}
	o.interval = &interval{begun: time.Now()}
	if err := o.checkChoices(t); err != nil {
		return err
	}
	switch {
	case whole:
		return nil
	case o.Begin.Step < 0 || o.Begin.Step >= o.End || o.End > steps:
		return fmt.Errorf("training cannot begin at step %d and end at step %d: the data have steps 0 to %d",
			o.Begin.Step, o.End, steps)
	case o.SaveEvery < 0 || o.SaveAfter < 0:
		return fmt.Errorf("the model cannot be saved every %d steps or every %v; want more than 0",
			o.SaveEvery, o.SaveAfter)
	case o.SaveAuto && (o.SaveEvery > 0 || o.SaveAfter > 0):
		return errors.New("training cannot both choose when the model is saved and be given an interval")
	case (o.SaveEvery > 0 || o.byTime()) && o.Save == nil && o.Cluster == nil:
		return errors.New("the model cannot be saved on the way without a function that saves it (Save)")
	case (o.SaveEvery > 0 || o.byTime()) && o.SaveApart == nil && o.Cluster != nil:
		return errors.New("the model of processes cannot be saved on the way without a function that saves " +
			"it (SaveApart)")
	case o.Cluster != nil && o.Begin.Model != nil && o.Begin.Folder == "":
		return errors.New("processes cannot begin with a model that is in no folder")
	case o.Recorder != nil:
		return errors.New("a recorded training begins at step 0, ends with the data and is saved at its " +
			"end only; leave out the recording")
	case o.Order != nil || t.Training.Mode == job.Sequential && t.Delayed():
		return errors.New("delayed and ordered sequential training begins at step 0, ends with the data " +
			"and is saved at its end only, because late gradients are not part of a model")
	}
	return nil
}

// restore brings an untrained state to where the training begins.
func (o *Options) restore(state exec.State, result *Result) (err error) {
	if o.Begin.Model != nil {
		result.Notes, err = o.Begin.Model.Restore(state)
	}
	return err
}

// segmentEnd returns where the segment that begins at a step ends: at the next step at which the model is
// saved, or at the end of training.
func (o *Options) segmentEnd(step int) int {
	if o.SaveEvery == 0 {
		return o.End
	}
	return min((step/o.SaveEvery+1)*o.SaveEvery, o.End)
}

// Pause is the time that training has stood still to save the model.
type Pause struct {
	Step int
	// Drain is the time from the last step of rank 0 until no role has work; 0 in sequential training.
	Drain time.Duration
	Save  time.Duration
	Start time.Duration // of the processes that continue, until they train; else 0
	// Write is the time from the end of training until the model of processes is complete, while training
	// goes on; 0 if it was given up, because a process was lost, or in a training in one process.
	Write time.Duration
}

// DrainedError is the error of a training that has ended on request, before its last step.
type DrainedError struct{ Step int }

// Error implements error.
func (e *DrainedError) Error() string {
	return fmt.Sprintf("training was asked to end, and has ended after %d steps", e.Step)
}

// drained reports whether training is requested to end.
func (o *Options) drained() bool {
	select {
	case <-o.Drain:
		return true
	default:
		return false
	}
}

// pause saves the model after a number of steps, unless training ends there, and notes the time.
func (o *Options) pause(step int, drain time.Duration, state exec.State, result *Result) error {
	if o.Save == nil || step == o.End {
		return nil
	}
	start := time.Now()
	if err := o.Save(step, state); err != nil {
		return err
	}
	o.paused(Pause{Step: step, Drain: drain, Save: time.Since(start)}, result)
	return nil
}

// byTime reports whether the model is saved after a time.
func (o *Options) byTime() bool { return o.SaveAfter > 0 || o.SaveAuto }

// saveAfter returns the time after which the model is to be saved, if that is by time, when training has
// begun again a number of times since it was.
func (o *Options) saveAfter(restarts int) time.Duration {
	if o.SaveAuto {
		return o.interval.next(time.Now(), restarts)
	}
	return o.SaveAfter
}

// paused notes a pause.
func (o *Options) paused(p Pause, result *Result) {
	o.interval.paused(p)
	result.Pauses = append(result.Pauses, p)
	if o.Paused != nil {
		o.Paused(p)
	}
}

// replayed notes a replay.
func (o *Options) replayed(r Replay, result *Result) {
	o.interval.Replayed += r.Took.Seconds() / r.Of.Seconds()
	result.Replays = append(result.Replays, r)
}

// roles has what the segments of a training with roles share.
type roles struct {
	job       *job.Job
	executor  *exec.Executor
	evaluator *evaluator
	options   *Options
	result    *Result
	saved     time.Time // when the model was saved, or training began
}

// runRoles trains segment by segment, with new roles in each: a model is saved, and hot rows are chosen
// again, where a run of roles has ended and nothing is on its way.
func runRoles(ctx context.Context, t *job.Job, source batch.Source, test *batch.Batch, o Options,
	result *Result) (probabilities []float32, err error) {
	executor, err := exec.New(*t, source, o.Backend)
	if err != nil {
		return nil, err
	}
	if err := t.CheckLength(source.Steps()); err != nil {
		return nil, err
	}
	model := executor.Model()
	if err := o.restore(model.State(), result); err != nil {
		return nil, err
	}
	e := newEvaluator(t, source, test, model.NewTestSet(test), o.Begin.Step, o.Evaluated)
	defer func() { result.Curve = e.close() }()
	again := choices{t, source, test, executor, e, result, o.End}
	r := &roles{t, executor, e, &o, result, time.Now()}
	for first := o.Begin.Step; first < o.End; {
		until := min(o.segmentEnd(first), choiceEnd(t, first))
		end, drain, err := r.train(ctx, first, until)
		if err != nil {
			return nil, err
		}
		drained := end < o.End && o.drained()
		if end > first && (end < until || end == o.segmentEnd(first) || drained) {
			if err := o.pause(end, drain, model.State(), result); err != nil {
				return nil, err
			}
			r.saved = time.Now()
		}
		if drained {
			return nil, &DrainedError{end}
		}
		if _, err := again.between(first, end); err != nil {
			return nil, err
		}
		first = end
	}
	result.Wall, result.HotRows = time.Since(e.start), t.ShardPlan().Hot().Len()
	result.MissedUpdates, result.HotGradients = model.Missed()
	result.fingerprint(model.DenseDigest(), model.Tables())
	result.PSRows, result.PSRowMemory = exec.RowsOnPSs(model)
	result.IDs, result.IDsOnGPUs = exec.IDsInTiers(model)
	if result.GPURows, err = exec.RowsOnGPUs(model); err != nil {
		return nil, err
	}
	if err := o.Trained(model.State()); err != nil {
		return nil, err
	}
	return e.evaluation.Evaluate(model)
}

// train runs the roles from one global step to another, or to an earlier one if they drain. They count these
// steps from 0. It returns the step before which they have ended, and how long the last of them has worked
// after the last step of rank 0.
func (r *roles) train(ctx context.Context, first, end int) (ended int, drain time.Duration, err error) {
	t, o := r.job, r.options
	cfg, err := t.RoleConfig(r.executor.Model().Layout(), first, end-first)
	if err != nil {
		return 0, 0, err
	}
	if o.Recorder != nil {
		if err := o.Recorder.BeginAt(first); err != nil {
			return 0, 0, err
		}
	}
	r.executor.BeginAt(first)
	meter := pace.NewMeter(t.Roles.Ranks, t.Roles.EmbeddingPSs)
	last := &lastStep{end: int32(end - first)}
	observers := []event.Observer{meter, last, shifted{progress{o.Progress, o.End}, int32(first)}}
	if o.Observer != nil {
		observers = append(observers, shifted{o.Observer, int32(first)})
	}
	faults := t.Faults.Between(first, end, end == o.End)
	part, err := driver.NewLocal(cfg, r.executor, driver.Options{
		Observers: observers, Recorder: o.Recorder, Stopwatch: o.Stopwatch, Faults: &faults,
		Slow: t.Slow,
		BeforeStep: func(step int, state evaluation.State) error {
			return r.evaluator.beforeStep(first+step, state)
		},
	}, driver.AllLocal, nil)
	if err != nil {
		return 0, 0, err
	}
	begun := make(chan func(), 1)
	stop, start := o.drainWhenDue(part.Drain, begun, o.saveAfter(0)-time.Since(r.saved), nil), time.Now()
	begun <- part.Drain
	err = part.Run(ctx, start)
	stop()
	if err != nil {
		return 0, 0, err
	}
	drain = time.Since(start) - time.Duration(last.at)
	r.result.Faults = r.result.Faults.Add(part.Injected())
	return first + int(last.end), drain, r.result.measured(cfg, meter)
}

// drainWhenDue drains a run of roles when training is requested to end or, with SaveAfter, when the model is
// to be saved: a time after the run has begun, and not before earlier is closed, if it is not nil, which is
// when the model before is saved. Request asks a run to end that has not begun. One that begins sends what
// drains it, and no other: it may fail at the moment when the model is due. The caller calls the function
// that is returned when the run has ended; that returns whether the model was to be saved.
func (o *Options) drainWhenDue(request func(), begun <-chan func(), after time.Duration,
	earlier <-chan struct{}) (ended func() (due bool)) {
	over, due := make(chan struct{}), false
	var waiting sync.WaitGroup
	waiting.Go(func() {
		var drain func()
		var timer <-chan time.Time
		select {
		case drain = <-begun:
			if o.byTime() {
				timer = time.After(after)
			}
		case <-o.Drain:
			request()
			return
		case <-over:
			return
		}
		select {
		case <-timer:
			if due = o.awaitEarlier(earlier, over); !due && !o.drained() {
				return
			}
		case <-o.Drain:
		case <-over:
			return
		}
		drain()
	})
	return func() bool {
		close(over)
		waiting.Wait()
		return due
	}
}

// awaitEarlier waits until earlier is closed, if it is not nil, and reports whether that was before training
// is requested to end, or is over.
func (o *Options) awaitEarlier(earlier, over <-chan struct{}) bool {
	if earlier == nil {
		return true
	}
	select {
	case <-earlier:
		return true
	case <-o.Drain:
	case <-over:
	}
	return false
}

// lastStep observes where a run of roles ends, and when rank 0 has trained a step.
type lastStep struct {
	end int32     // as the roles count steps
	at  unit.Tick // since the roles began
}

// Observe implements event.Observer.
func (l *lastStep) Observe(e event.Record) {
	switch {
	case e.Kind == event.EndDecided:
		l.end = e.Step
	case e.Kind == event.DenseApplied && e.Rank == 0:
		l.at = e.At
	}
}

// shifted is an observer that sees global steps.
type shifted struct {
	event.Observer
	first int32
}

// Observe implements event.Observer.
func (s shifted) Observe(e event.Record) {
	e.Step += s.first
	s.Observer.Observe(e)
}
