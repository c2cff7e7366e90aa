package train_test

import (
	"errors"
	"testing"
	"time"

	"tandem/algo/exec"
	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/fault"
	"tandem/algo/unit"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// longSteps is the length of the runs that are interrupted: ranks of asynchronous modes run ahead.
const longSteps = 60

func longData() *exectest.Columns { return exectest.NewColumns(16*longSteps-5, 16) }

func trainLong(t *testing.T, j job.Job, o train.Options) *train.Result {
	t.Helper()
	data := longData()
	result, err := train.Run(t.Context(), j, data, data.All, o)
	if err != nil {
		t.Fatalf("%s: %v", j.Training.Mode, err)
	}
	return result
}

// heldBack has no samples of the steps from step on until it is released, and then reads them slowly, so that
// no rank runs far ahead: on a busy machine a request to end may take a while to arrive.
type heldBack struct {
	*exectest.Columns
	step     int
	released <-chan struct{}
}

func (h heldBack) Read(step int) (*batch.Batch, error) {
	if step >= h.step {
		<-h.released
		time.Sleep(5 * time.Millisecond)
	}
	return h.Columns.Read(step)
}

// interrupted trains a job whose end is requested when rank 0 has trained a number of steps. It returns the
// folder of the model that it has saved, and the number of steps of that model.
func interrupted(t *testing.T, j job.Job, after int) (model string, step int) {
	t.Helper()
	drain := make(chan struct{})
	folder := t.TempDir()
	o := train.Options{Drain: drain, Progress: func(done, _ int) {
		if done == after {
			close(drain)
		}
	}, Save: func(step int, state exec.State) error {
		return saver(checkpoint.StepFolder(folder, step), j)(state)
	}}
	data := longData()
	_, err := train.Run(t.Context(), j, heldBack{data, after + 8, drain}, data.All, o)
	var drained *train.DrainedError
	if !errors.As(err, &drained) {
		t.Fatalf("%s, interrupted after %d steps: error %v, want a DrainedError", j.Training.Mode, after, err)
	}
	if drained.Step < after || drained.Step >= longSteps {
		t.Errorf("%s, interrupted after %d steps, ends after %d", j.Training.Mode, after, drained.Step)
	}
	return checkpoint.StepFolder(folder, drained.Step), drained.Step
}

// A training of any mode that is requested to end at any time saves its model, from which it continues; with
// the bits of the uninterrupted run in sync and sequential, also with lost messages and crashes.
func TestAnInterruptedTrainingContinues(t *testing.T) {
	faults, err := fault.Parse("drop=0.05,duplicate=0.05,reorder=8,crash=data-loader/0@1+5ms," +
		"crash=embedding-worker/0@2,crash=data-loader/0@3+5ms")
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range job.Modes() {
		plain := cutJob(mode, 2, 2)
		whole := trainLong(t, plain, train.Options{})
		for after := 1; after < 5; after++ {
			if testing.Short() && after > 2 {
				break
			}
			j := plain
			if after%2 == 0 && mode != job.Sequential {
				j.Faults, j.Wire.Retry = faults, 5*unit.Millisecond
			}
			folder, step := interrupted(t, j, after)
			rest := trainLong(t, j, train.Options{Begin: train.Begin{Step: step, Model: mustOpen(t, folder)}})
			if rest.Steps != longSteps-step {
				t.Errorf("%s continues after %d steps with %d", mode, step, rest.Steps)
			}
			exact := mode == job.Sync || mode == job.Sequential
			if exact && (rest.DenseDigest != whole.DenseDigest || rest.RowsDigest != whole.RowsDigest ||
				rest.AUC != whole.AUC) {
				t.Errorf("%s, interrupted after %d steps and continued: dense %x, rows %x; want %x, %x", mode,
					step, rest.DenseDigest, rest.RowsDigest, whole.DenseDigest, whole.RowsDigest)
			}
		}
	}
}

// A model that is saved after a time does not change a sync or sequential training. Every pause is reported.
func TestSaveAfterATime(t *testing.T) {
	for _, mode := range job.Modes() {
		j := cutJob(mode, 2, 2)
		j.Training.Prefetch = 1
		var saved []int
		o := train.Options{SaveAfter: 1, Save: func(step int, _ exec.State) error {
			saved = append(saved, step)
			return nil
		}}
		got := mustTrain(t, j, o)
		if len(saved) == 0 || len(got.Pauses) != len(saved) || got.Steps != cutSteps {
			t.Errorf("%s: saved after steps %v, %d pauses, %d steps", mode, saved, len(got.Pauses), got.Steps)
		}
		for i, p := range got.Pauses {
			if p.Step != saved[i] || p.Save <= 0 || p.Drain < 0 || i > 0 && p.Step <= saved[i-1] {
				t.Errorf("%s: pauses %+v", mode, got.Pauses)
			}
		}
		if mode != job.Sync && mode != job.Sequential {
			continue
		}
		plain := mustTrain(t, j, train.Options{})
		if plain.DenseDigest != got.DenseDigest || plain.RowsDigest != got.RowsDigest {
			t.Errorf("%s: pauses to save change the model", mode)
		}
	}
}
