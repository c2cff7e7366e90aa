package train

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/exec/evaluation"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/unit"
)

// quality is a point without its time.
func quality(curve []evaluation.Point) []evaluation.Point {
	curve = slices.Clone(curve)
	for i := range curve {
		curve[i].Seconds = 0
	}
	return curve
}

// Evaluation only reads: with and without it, sequential and sync training end with the same bits, the same
// number of rows and the same missed updates, for test rows of the training data and for test rows with ids
// that were never trained.
func TestEvaluationChangesNothing(t *testing.T) {
	r := newRows(64*12+9, 64, 4, 1)
	other := newRows(64, 64, 4, 99)
	for i := range other.all.Slots {
		for j := range other.all.Slots[i].IDs {
			other.all.Slots[i].IDs[j] += 1000
		}
	}
	for _, test := range []*batch.Batch{r.all, other.all} {
		for _, mode := range []string{job.Sequential, job.Sync} {
			plain, err := Run(t.Context(), small(mode, 4), r, test, Options{})
			if err != nil {
				t.Fatal(err)
			}
			watched := small(mode, 4)
			watched.Training.EvaluateEvery.Steps = 1
			var reported []evaluation.Point
			got, err := Run(t.Context(), watched, r, test, Options{
				Evaluated: func(p evaluation.Point) { reported = append(reported, p) },
			})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(reported, got.Curve) {
				t.Errorf("%s: %d points reported, the curve has %d", mode, len(reported), len(got.Curve))
			}
			if got.DenseDigest != plain.DenseDigest || got.RowsDigest != plain.RowsDigest ||
				got.Rows != plain.Rows ||
				got.AUC != plain.AUC || got.MissedUpdates.Summary() != plain.MissedUpdates.Summary() {
				t.Errorf("%s: evaluation has changed the training", mode)
			}
			if len(plain.Curve) != 1 || len(got.Curve) != 13 {
				t.Errorf("%s: %d and %d points, want 1 and 13", mode, len(plain.Curve), len(got.Curve))
			}
		}
	}
}

// fails is an engine that fails in its first prediction, after which its results mean nothing.
type fails struct {
	model.Engine
	failed atomic.Bool
}

func (f *fails) Err() error {
	if f.failed.Load() {
		return errors.New("the engine is gone")
	}
	return nil
}

func (f *fails) NewPass(samples int) model.Pass { return &failingPass{f.Engine.NewPass(samples), f} }

type failingPass struct {
	model.Pass
	of *fails
}

func (p *failingPass) Forward(params, running []float32, in model.Input, train bool) ([]float32, float64) {
	if in.Labels == nil {
		p.of.failed.Store(true)
	}
	return p.Pass.Forward(params, running, in, train)
}

// A prediction during which the engine fails is no point of the curve.
func TestPointsOfAFailedEngineAreNotReported(t *testing.T) {
	r := newRows(64*12, 64, 4, 1)
	for _, mode := range []string{job.Sequential, job.Sync} {
		j := small(mode, 2)
		j.Training.EvaluateEvery.Steps = 1
		_, err := Run(t.Context(), j, r, r.all, Options{
			Evaluated: func(p evaluation.Point) { t.Errorf("%s: point %+v", mode, p) },
			Backend: backend.Backend{Engine: func(schema *batch.Schema) (model.Engine, error) {
				e, err := model.New(j.Model.Spec, schema, nil)
				return &fails{Engine: e}, err
			}}})
		if err == nil || !strings.Contains(err.Error(), "the engine is gone") {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

// In sync mode, rank 0 begins a step when every PS has closed the previous step and no PS can close this one.
// So a point equals that of sequential training at its step, bit for bit, although rows are read during
// training.
func TestCurveOfSyncEqualsSequential(t *testing.T) {
	r := newRows(64*20+9, 64, 4, 2)
	for _, overlap := range []string{"none", "ids+ds"} {
		reference, training := small(job.Sequential, 4), small(job.Sync, 4)
		reference.Training.EvaluateEvery.Steps, training.Training.EvaluateEvery.Steps,
			training.Training.Overlap = 3, 3, overlap
		want, got := quality(mustRun(t, reference, r).Curve), quality(mustRun(t, training, r).Curve)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %+v, sequential %+v", overlap, got, want)
		}
		if p := want[1]; p.Step != 6 || p.Samples != 6*64 || p.AUC == want[0].AUC {
			t.Errorf("second point %+v after %+v", p, want[0])
		}
	}
}

// A point at step k equals the final evaluation of a training of k steps. The last point has the result's own
// scores.
func TestPointIsTheEvaluationOfShorterTraining(t *testing.T) {
	long, short := newRows(64*10, 64, 4, 3), newRows(64*10, 64, 4, 3)
	short.all = batch.Slice(short.all, 0, 64*6)
	training := small(job.Sync, 2)
	training.Training.EvaluateEvery.Steps = 2
	got, err := Run(t.Context(), training, long, long.all, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ended, err := Run(t.Context(), training, short, long.all, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if at, last := quality(got.Curve)[2], quality(ended.Curve)[2]; at != last || at.Step != 6 {
		t.Errorf("point %+v, training that ends there %+v", at, last)
	}
	if last := got.Curve[4]; last.AUC != got.AUC || last.LogLoss != got.LogLoss || last.Step != 10 ||
		last.Samples != 640 ||
		last.Seconds != got.Wall.Seconds() {
		t.Errorf("last point %+v, result AUC %v, log loss %v, %v", last, got.AUC, got.LogLoss, got.Wall)
	}
}

// Every asynchronous mode keeps its bounds while it is evaluated before every step, and the loss falls, so
// the points are from different stages of training.
func TestAsynchronousModesAreEvaluatedInTraining(t *testing.T) {
	r := newRows(64*40, 64, 4, 4)
	two := 2
	for mode := range asynchronous {
		training := small(mode, 4)
		training.Training.Staleness, training.Training.EvaluateEvery.Steps, training.Roles.DensePSs = &two, 1,
			2
		training.Training.ModeSettings = map[string]int{"every": 5}
		training = training.InMode(mode)
		got := mustRun(t, training, r)
		if got.Staleness.Own.Max() > two || len(got.Curve) != 40 {
			t.Errorf("%s: own staleness %d, %d points", mode, got.Staleness.Own.Max(), len(got.Curve))
		}
		first, last := got.Curve[0], got.Curve[39]
		if last.LogLoss > first.LogLoss-0.01 || last.AUC != got.AUC || last.Step != 40 ||
			last.Samples != 64*40 {
			t.Errorf("%s: from %+v to %+v, result AUC %v", mode, first, last, got.AUC)
		}
	}
}

// One rank without staleness is deterministic, so the points of every mode equal those of sequential
// training.
func TestCurveOfOneRankEqualsSequential(t *testing.T) {
	r := newRows(64*10+9, 64, 4, 6)
	none := 0
	reference := small(job.Sequential, 1)
	reference.Training.EvaluateEvery.Steps = 2
	want := quality(mustRun(t, reference, r).Curve)
	for mode := range asynchronous {
		training := small(mode, 1)
		training.Training.Staleness, training.Training.Overlap, training.Training.EvaluateEvery.Steps = &none,
			"none", 2
		training.Training.ModeSettings = map[string]int{"every": 3}
		training = training.InMode(mode)
		if got := quality(mustRun(t, training, r).Curve); !slices.Equal(got, want) {
			t.Errorf("%s: %+v, sequential %+v", mode, got, want)
		}
	}
}

// late is a state whose rows come when gate is closed.
type late struct {
	evaluation.State
	gate chan struct{}
}

// ReadRows would wait for the rows.
func (late) ReadRows(int, []uint64, []float32) error { return errors.New("rank 0 waits for rows") }

func (l late) StartRows(server int, signs []uint64, dst []float32) func() error {
	return func() error {
		<-l.gate
		return l.State.ReadRows(server, signs, dst)
	}
}

// Points whose rows have not come yet do not hold the training up, and come in order.
func TestEvaluationDoesNotWaitForRows(t *testing.T) {
	r, training := newRows(64*4, 64, 4, 1), small(job.Sync, 1)
	training.Training.EvaluateEvery.Steps = 1
	executor, err := exec.New(training, r, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	model, state := executor.Model(), late{executor.Model(), make(chan struct{})}
	var reported []int
	e := newEvaluator(&training, r, r.all, model.NewTestSet(r.all), 0, func(p evaluation.Point) {
		reported = append(reported, p.Step)
	})
	for step := range 4 {
		if err := e.beforeStep(step, state); err != nil {
			t.Error(err)
		}
	}
	close(state.gate)
	points := e.close()
	if !slices.Equal(reported, []int{1, 2, 3}) || len(points) != 3 {
		t.Errorf("points of steps %v, and %d in the curve; want 1, 2 and 3", reported, len(points))
	}
}

// gone is a state whose rows cannot be read.
type gone struct{ evaluation.State }

func (gone) ReadRows(int, []uint64, []float32) error { return errors.New("a PS is lost") }

// A point before which a process is lost is taken when its step is trained again.
func TestPointOfALossIsTakenWhenItsStepIsTrainedAgain(t *testing.T) {
	r, training := newRows(64*8, 64, 4, 1), small(job.Sync, 1)
	training.Training.EvaluateEvery.Steps = 2
	executor, err := exec.New(training, r, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	model := executor.Model()
	e := newEvaluator(&training, r, r.all, model.NewTestSet(r.all), 0, func(evaluation.Point) {})
	for step := range 4 {
		if err := e.beforeStep(step, model); err != nil {
			t.Error(err)
		}
	}
	if e.beforeStep(4, gone{model}) == nil {
		t.Error("the rows of a PS that is lost were read")
	}
	for step := 1; step < 8; step++ { // again from a checkpoint of step 1
		if err := e.beforeStep(step, model); err != nil {
			t.Error(err)
		}
	}
	var steps []int
	for _, p := range e.close() {
		steps = append(steps, p.Step)
	}
	if !slices.Equal(steps, []int{2, 4, 6}) {
		t.Errorf("points of steps %v, want 2, 4 and 6", steps)
	}
}

// slow is a source whose batches take a millisecond to read.
type slow struct{ *rows }

func (s slow) Read(step int) (*batch.Batch, error) {
	time.Sleep(time.Millisecond)
	return s.rows.Read(step)
}

// With an interval of time, a point is taken when the interval is over and the previous evaluation is done.
// In a synctest bubble only reading takes time: step k begins after k ms, and 10 steps of 1 ms have points
// after 3, 6 and 9 ms, and at the end.
func TestEvaluateByTime(t *testing.T) {
	for every, want := range map[unit.Tick]int{unit.Nanosecond: 10, 3 * unit.Millisecond: 4, unit.Hour: 1} {
		synctest.Test(t, func(t *testing.T) {
			training := small(job.Sequential, 1)
			training.Training.EvaluateEvery.Time = every
			r := newRows(64*10, 64, 4, 5)
			got, err := Run(t.Context(), training, slow{r}, r.all, Options{})
			if err != nil || len(got.Curve) != want {
				t.Errorf("every %v: %d points, %v; want %d", every, len(got.Curve), err, want)
			}
		})
	}
}

// A run that ends early leaves no goroutine of an evaluation behind.
func TestCancelDuringEvaluationIsClean(t *testing.T) {
	r := newRows(64*200, 64, 4, 7)
	for _, mode := range job.Modes() {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			training := small(mode, 4)
			training.Training.EvaluateEvery.Steps = 1
			_, err := Run(ctx, training, r, batch.Slice(r.all, 0, 100), Options{Progress: func(done, _ int) {
				if done >= 5 {
					cancel()
				}
			}})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", mode, err)
			}
		})
	}
}
