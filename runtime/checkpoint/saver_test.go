package checkpoint_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// A model that is written while training goes on has the bytes of one for which training waits, in every
// mode, with eviction, with hot rows where the mode can have some, and without a buffer. The hot rows are
// chosen again while the model is written, and where it is saved.
func TestSavingBesideTraining(t *testing.T) {
	for _, mode := range job.Modes() {
		t.Run(mode, func(t *testing.T) {
			j := exectest.Job(2, 2).InMode(mode)
			j.Rows.Capacity, j.Rows.Eviction = 20, job.SecondChance
			if j.Rows.Hot = (job.Hot{Share: someShare, Most: 20, Every: 2}); j.Validate() != nil {
				j.Rows.Hot = job.Hot{}
			}
			folder, saved := t.TempDir(), []checkpoint.Saved{}
			s := checkpoint.Saver{Saved: func(one checkpoint.Saved) error {
				saved = append(saved, one)
				return nil
			}}
			_, err := train.Run(t.Context(), j, columns(), columns().All, train.Options{SaveEvery: 4,
				Save: func(step int, state exec.State) error {
					at := checkpoint.StepFolder(folder, step)
					if err := s.Wait(); err != nil { // Save freezes the rows, too
						return err
					}
					if err := checkpoint.Save(at+"-stopped", manifest(j), state); err != nil {
						return err
					}
					return s.Save(at, manifest(j), state)
				}})
			if err != nil || s.Wait() != nil {
				t.Fatal(err)
			}
			if len(saved) != 2 { // after 4 and 8 of 10 steps
				t.Errorf("%d models are saved", len(saved))
			}
			for _, one := range saved {
				equalFiles(t, one.Folder, one.Folder+"-stopped")
			}
		})
	}
}

// equalFiles compares the files of two folders.
func equalFiles(t *testing.T, a, b string) {
	t.Helper()
	names, err := os.ReadDir(a)
	if err != nil || len(names) < 4 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		x, err := os.ReadFile(filepath.Join(a, name.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if y, err := os.ReadFile(filepath.Join(b, name.Name())); err != nil || !bytes.Equal(x, y) {
			t.Errorf("%s differs between %s and %s: %v", name.Name(), a, b, err)
		}
	}
}

// The error of writing a model is that of the next Save, or of Wait.
func TestErrorOfSavingBesideTraining(t *testing.T) {
	j := exectest.Job(1, 1)
	folder, state := trained(t, j)
	at := func(name string) string { return filepath.Join(filepath.Dir(folder), name) }
	s := checkpoint.Saver{Saved: func(checkpoint.Saved) error { return os.ErrClosed }}
	if err := s.Save(at("1"), manifest(j), state); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(at("2"), manifest(j), state); err == nil {
		t.Error("the next model is saved")
	}
	if err := s.Wait(); err != nil {
		t.Errorf("the error comes again: %v", err)
	}
}
