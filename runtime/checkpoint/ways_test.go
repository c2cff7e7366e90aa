package checkpoint

import (
	"errors"
	"testing"

	"tandem/algo/exec"
)

// ways are the ways to save a checkpoint after 200 steps in a folder that has the one after 100, of a small
// model.
var ways = map[string]func(t *testing.T, fs fileSystem, folder string) error{
	"all rows": func(t *testing.T, fs fileSystem, folder string) error {
		q, m := small(t)
		return save(fs, StepFolder(folder, 200), m, q)
	},
	"changes": func(t *testing.T, fs fileSystem, folder string) error {
		s := Saver{fs: fs, Chain: Chain{FullEvery: 9}}
		before, err := Open(StepFolder(folder, 100))
		if err != nil {
			return err
		}
		q, m := empty(t)
		if _, err := before.Restore(q); err != nil {
			return err
		}
		s.Chain.Begin(before)
		changeFirst(q)
		return errors.Join(s.Save(StepFolder(folder, 200), m, q), s.Wait(), before.Close())
	},
}

// changeFirst applies a gradient to a row of each owner of a small model.
func changeFirst(q exec.State) {
	for owner, sign := range []uint64{1, 3} {
		t := q.Tables(owner)[0]
		grad := make([]float32, t.Dim())
		grad[0] = 1
		t.Apply([]uint64{sign}, grad, 0.5, nil)
	}
}
