package process

import (
	"path/filepath"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/pace"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// What the processes write of a model is, together, the model that they have trained, in every mode: without
// -long in every second one.
func TestModelOfProcesses(t *testing.T) {
	for i, mode := range pace.Modes() {
		if !*long && i%2 != 0 || testing.Short() && i%3 != 0 {
			continue
		}
		t.Run(mode, func(t *testing.T) {
			s := setting{Training: small(mode), Steps: 6}
			s.Training.Roles.DensePSs = 2
			folder := filepath.Join(t.TempDir(), "model")
			save := func(m exec.State, export func(string) ([]string, error)) error {
				about := &checkpoint.Manifest{Mode: mode, Job: []byte("name: small\n"),
					Scaling: []batch.Scaling{{Std: 1}}}
				return checkpoint.SaveApart(folder, about, m, export)
			}
			want, err := s.run(t.Context(), train.Options{TrainedApart: save}, nil)
			if err != nil {
				t.Fatal(err)
			}
			saved, err := checkpoint.Open(folder)
			if err != nil {
				t.Fatal(err)
			}
			defer saved.Close()
			e, err := exec.New(s.Training, newRows(s.Steps), backend.Backend{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := saved.Restore(e.Model().State()); err != nil {
				t.Fatal(err)
			}
			rows, count := uint64(0), 0
			for _, table := range e.Model().Tables() {
				rows, count = rows+table.Digest(), count+table.Len()
			}
			if dense := e.Model().DenseDigest(); dense != want.DenseDigest || rows != want.RowsDigest ||
				count != want.Rows {
				t.Errorf("network %x and %d rows %x, want %x and %d rows %x", dense, count, rows,
					want.DenseDigest, want.Rows, want.RowsDigest)
			}
		})
	}
}
