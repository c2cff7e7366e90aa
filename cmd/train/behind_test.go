package main

import (
	"errors"
	"path/filepath"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/exec/exectest"
	"tandem/algo/numeric/batch"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// An interrupted training whose last checkpoint cannot be written says so, and not that it was saved, also if
// an earlier checkpoint is complete.
func TestInterruptionThatIsNotSaved(t *testing.T) {
	full := errors.New("no space left on device")
	for _, earlier := range []bool{false, true} {
		var b behind
		if err := b.begin(func(int) error { return full }, func(error) {}); err != nil {
			t.Fatal(err)
		}
		folder, j := t.TempDir(), exectest.Job(1, 1)
		data := exectest.NewColumns(160, 16)
		_, err := b.complete(func() (*train.Result, error) {
			return train.Run(t.Context(), j, data, data.All, train.Options{Trained: func(s exec.State) error {
				m := &checkpoint.Manifest{Mode: j.Training.Mode, Step: 5, Job: []byte("name: test\n"),
					Scaling: []batch.Scaling{{Std: 1}}}
				return errors.Join(b.Save(filepath.Join(folder, "5"), m, s), &train.DrainedError{Step: 5})
			}})
		})()
		if err = interrupted(t.Context(), err, earlier); !errors.Is(err, full) {
			t.Errorf("with an earlier checkpoint (%t): %v", earlier, err)
		}
	}
}
