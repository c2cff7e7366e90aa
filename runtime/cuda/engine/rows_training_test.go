package engine_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// onGPU returns a job whose rows are in the memory of its GPU, or on two PSs.
func onGPU(rows bool) job.Job {
	j := exectest.Job(1, 2)
	j.Model.Device.CUDA = true
	if rows {
		j.Rows.Placement, j.Rows.Capacity = job.RowsOnGPU, 60
	}
	return j
}

// trainedWith trains a job on a GPU of the software, as options say.
func trainedWith(t *testing.T, j job.Job, o train.Options) (*train.Result, error) {
	t.Helper()
	o.Backend = backend.Backend{Trainer: open(t, 1, j).Trainer}
	data := exectest.NewColumns(160, 16)
	return train.Run(t.Context(), j, data, data.All, o)
}

// Rows on the GPU of the rank have the bits that they have on PSs, and so has the network, in sync and, as
// with all rows hot, in hybrid. PSs have no rows.
func TestRowsOnTheGPUChangeNoBit(t *testing.T) {
	want := trained(t, onGPU(false), 1)
	for _, mode := range []string{job.Sync, job.Hybrid} {
		j := onGPU(true)
		j.Training.Mode = mode
		if err := j.Validate(); err != nil {
			t.Fatal(err)
		}
		got := trained(t, j, 1)
		if got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest || got.Rows != want.Rows {
			t.Errorf("%s: %d rows %x, network %x on the GPU; %d rows %x, network %x on PSs", mode, got.Rows,
				got.RowsDigest, got.DenseDigest, want.Rows, want.RowsDigest, want.DenseDigest)
		}
		n := got.MissedUpdates.Count()
		if n != want.MissedUpdates.Count() || got.MissedUpdates.Max() != 0 {
			t.Errorf("%s: %d row gradients, of which some missed %d updates; want %d that missed none", mode,
				n, got.MissedUpdates.Max(), want.MissedUpdates.Count())
		}
		if !slices.Equal(got.Probabilities, want.Probabilities) {
			t.Errorf("%s: other predictions than with rows on PSs", mode)
		}
	}
}

// A batch with more new rows than the GPU has room for is an error that says what to do, as is a model.
func TestRowsThatDoNotFitOnTheGPUAreRefused(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "model")
	if _, err := trainedWith(t, onGPU(false), savedAt(t, onGPU(false), folder, 5)); err != nil {
		t.Fatal(err)
	}
	j := onGPU(true)
	j.Rows.Capacity = 20
	const full = "cuda:0 has 20 rows of at most 20, and the batch has more; raise rows.capacity"
	const restored = " rows of the model, and there is room for 20; raise rows.capacity"
	for want, o := range map[string]train.Options{full: {}, restored: beginningWith(t, folder)} {
		if _, err := trainedWith(t, j, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// savedAt ends a training after a number of steps, and saves its model.
func savedAt(t *testing.T, j job.Job, folder string, step int) train.Options {
	return train.Options{End: step, Trained: func(s exec.State) error {
		return checkpoint.Save(folder, &checkpoint.Manifest{Mode: j.Training.Mode, Step: step,
			Job: []byte("name: test\n"), Scaling: []batch.Scaling{{Std: 1}}}, s)
	}}
}

// beginningWith continues with a model.
func beginningWith(t *testing.T, folder string) train.Options {
	t.Helper()
	model, err := checkpoint.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	return train.Options{Begin: train.Begin{Step: model.Manifest.Step, Model: model}}
}

// A model goes on with the bits of a training without a pause, wherever its rows were and wherever they are
// then: on a GPU or on PSs. A training that saves its model on the way, while it goes on, has them too.
func TestRowsMoveBetweenGPUAndPSs(t *testing.T) {
	want := trained(t, onGPU(false), 1)
	for _, from := range []bool{true, false} {
		folder := filepath.Join(t.TempDir(), "model")
		o := savedAt(t, onGPU(from), folder, 10)
		save := o.Trained
		o.End, o.SaveEvery, o.Trained = 0, 5, nil
		o.Save = func(step int, s exec.State) error { return save(s) }
		if got, err := trainedWith(t, onGPU(from), o); err != nil || got.RowsDigest != want.RowsDigest {
			t.Fatalf("rows on the GPU %v, saved on the way: other rows, error %v", from, err)
		}
		folder = filepath.Join(t.TempDir(), "model")
		if _, err := trainedWith(t, onGPU(from), savedAt(t, onGPU(from), folder, 5)); err != nil {
			t.Fatal(err)
		}
		for _, to := range []bool{true, false} {
			got, err := trainedWith(t, onGPU(to), beginningWith(t, folder))
			if err != nil {
				t.Fatal(err)
			}
			if got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest {
				t.Errorf("rows on the GPU %v, then %v: rows %x, network %x, want %x, %x", from, to,
					got.RowsDigest, got.DenseDigest, want.RowsDigest, want.DenseDigest)
			}
			if !slices.Equal(got.Probabilities, want.Probabilities) {
				t.Errorf("rows on the GPU %v, then %v: other predictions", from, to)
			}
		}
	}
}
