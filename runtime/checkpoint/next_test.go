package checkpoint_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// Every model that OpenNext opens has the rows of one that is saved whole at the same moment, with rows
// that are evicted or expire, and hot rows that change their owners on the way, and with checkpoints of all
// rows between those of changes. The models before it keep theirs until they are closed, whichever is first.
func TestNextModelsAreThoseOfTheirMoments(t *testing.T) {
	some, others := 0, 0
	for _, mode := range []string{job.Sequential, job.Sync, job.Hybrid, "async-ps", "sync that expires"} {
		t.Run(mode, func(t *testing.T) {
			mode, expires := strings.CutSuffix(mode, " that expires")
			j := exectest.Job(2, 2).InMode(mode)
			j.Rows.Capacity, j.Rows.Eviction = 20, job.SecondChance
			if expires {
				j.Rows = exectest.Job(2, 2).Rows
				j.Rows.Expiry = 1
			}
			if j.Rows.Hot = (job.Hot{Share: someShare, Most: 20, Every: 2}); j.Validate() != nil {
				j.Rows.Hot = job.Hot{}
			}
			folder := t.TempDir()
			s := checkpoint.Saver{Chain: checkpoint.Chain{FullEvery: 4}}
			result, err := train.Run(t.Context(), j, columns(), columns().All, train.Options{SaveEvery: 1,
				Save: func(step int, state exec.State) error {
					at := checkpoint.StepFolder(folder, step)
					if err := s.Wait(); err != nil {
						return err
					}
					if err := checkpoint.Save(at+"-whole", manifest(j), state); err != nil {
						return err
					}
					return s.Save(at, manifest(j), state)
				}})
			if err != nil || s.Wait() != nil {
				t.Fatal(err)
			}
			if expires != (result.ExpiredRows > 0) {
				t.Errorf("%d rows have expired", result.ExpiredRows)
			}
			models := []*checkpoint.Checkpoint{mustOpen(t, checkpoint.StepFolder(folder, 1))}
			for step := 2; step < columns().Steps(); step++ {
				next, err := models[len(models)-1].OpenNext(checkpoint.StepFolder(folder, step))
				if err != nil {
					t.Fatal(err)
				}
				if _, changes := next.ChangedRows(); changes {
					some++
				} else {
					others++
				}
				if err := os.RemoveAll(next.Folder()); err != nil { // what is mapped stays
					t.Fatal(err)
				}
				models = append(models, next)
				compareAll(t, folder, models, step-len(models)+1)
				if len(models) == 3 { // the one between the others is closed first
					if err := models[1].Close(); err != nil {
						t.Fatal(err)
					}
					compareAll(t, folder, models[:1], step-2)
					compareAll(t, folder, models[2:], step)
					if err := models[0].Close(); err != nil {
						t.Fatal(err)
					}
					models = models[2:]
				}
			}
			for _, m := range models {
				if err := m.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	if some < 10 || others < 10 {
		t.Errorf("%d models of changes and %d others, want at least 10 of each", some, others)
	}
}

// compareAll compares models, of steps that follow each other, with those that were saved whole. A row that
// one of them does not have is missing in it, although another one has it.
func compareAll(t *testing.T, folder string, models []*checkpoint.Checkpoint, first int) {
	t.Helper()
	var signs []uint64
	for _, m := range models {
		r, err := m.Rows()
		if err != nil {
			t.Fatal(err)
		}
		for sign := range r.Trained() {
			signs = append(signs, sign)
		}
	}
	for i, m := range models {
		want := mustOpen(t, checkpoint.StepFolder(folder, first+i)+"-whole")
		equalReaders(t, m, want)
		got, err := m.Rows()
		if err != nil {
			t.Fatal(err)
		}
		all, err := want.Rows()
		if err != nil {
			t.Fatal(err)
		}
		x, y := make([]float32, len(signs)*got.Dims()[0]), make([]float32, len(signs)*got.Dims()[0])
		missing, err := got.Read(signs, x)
		wanted, failed := all.Read(signs, y)
		if err != nil || failed != nil || missing != wanted || !slices.Equal(x, y) {
			t.Errorf("step %d: rows of other steps are read: %d missing, want %d; errors %v, %v", first+i,
				missing, wanted, err, failed)
		}
		a, err := m.Dense()
		if err != nil {
			t.Fatal(err)
		}
		b, err := want.Dense()
		if err != nil || !slices.Equal(a.Params, b.Params) || !slices.Equal(a.Running, b.Running) {
			t.Errorf("step %d: another dense network; error %v", first+i, err)
		}
	}
}

// Of a model that follows another, each damage to a file that the other does not have is named, as is a file
// that is not there; the other one goes on, and the repaired one follows it.
func TestDamagedNextModelIsNamed(t *testing.T) {
	j := exectest.Job(2, 2)
	_, state := trained(t, j)
	s := &checkpoint.Saver{Chain: checkpoint.Chain{FullEvery: 9}}
	folder := chained(t, s, j, state, 4)
	first := mustOpen(t, checkpoint.StepFolder(folder, 3))
	next := checkpoint.StepFolder(folder, 4)
	for _, name := range []string{"rows-00001-of-00002-changes-2.arrow", checkpoint.DenseFile,
		checkpoint.JobFile, checkpoint.ManifestFile} {
		path := filepath.Join(next, name)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		try := func(what string) {
			t.Helper()
			c, err := first.OpenNext(next)
			if err == nil {
				c.Close()
			}
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s, %s: error %v", name, what, err)
			}
		}
		for at := 0; at < len(good); at += max(len(good)/20, 1) {
			broken := slices.Clone(good)
			broken[at] ^= 1 << (at % 8)
			write(t, path, broken)
			try("damaged")
			write(t, path, good[:at])
			try("torn")
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		try("missing")
		write(t, path, good)
		c, err := first.OpenNext(next)
		if err != nil {
			t.Fatal(err)
		}
		if rows, changes := c.ChangedRows(); !changes || rows != 2 {
			t.Errorf("%d rows were read, changes only: %t; want 2 rows, which changed", rows, changes)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
