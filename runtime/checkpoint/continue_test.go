package checkpoint_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/exectest"
	"tandem/algo/exec/reference"
	"tandem/algo/job"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/table"
	"tandem/runtime/checkpoint"
)

// Sequential training that continues from a model after any step ends with the bits of one that was never
// interrupted, for every precision of rows, with rows that are evicted.
func TestSequentialContinuesFromEveryStep(t *testing.T) {
	for i, precision := range table.Precisions() {
		j := exectest.Job(4, 2).InMode(job.Sequential)
		j.Rows.Precision, j.Rows.Optimizer.Kind = precision, []string{opt.SGD, opt.Adagrad, opt.Adam}[i]
		j.Rows.Capacity, j.Rows.Eviction, j.Rows.Admission = 40, job.SecondChance, 0.8
		j.Model.Optimizer.Kind = []string{opt.SGD, opt.Adam, opt.Adagrad}[i]
		whole := untrained(t, j).(*reference.Sequential)
		folder := t.TempDir()
		steps := columns().Steps()
		train := func(q *reference.Sequential, from int) {
			for step := from; step < steps; step++ {
				if q == whole {
					err := checkpoint.Save(checkpoint.StepFolder(folder, step), manifest(j), q)
					if err != nil {
						t.Fatal(err)
					}
				}
				if err := q.Step(step); err != nil {
					t.Fatal(err)
				}
			}
		}
		train(whole, 0)
		if whole.Rows()[0].Evicted() == 0 {
			t.Errorf("%s: no row was evicted", precision)
		}
		for step := range steps {
			q, err := reference.NewSequential(j, columns(), backend.Backend{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := mustOpen(t, filepath.Join(folder, fmt.Sprint(step))).Restore(q); err != nil {
				t.Fatal(err)
			}
			train(q, step)
			got, want := q.Rows()[0], whole.Rows()[0]
			if got.Digest() != want.Digest() || q.Dense().Digest() != whole.Dense().Digest() ||
				got.Counters() != want.Counters() {
				t.Errorf("%s, from step %d: other rows or another network than without interruption",
					precision, step)
			}
		}
	}
}
