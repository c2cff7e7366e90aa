package inference_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/internal/damage"
	"tandem/runtime/checkpoint"
	"tandem/runtime/inference"
)

var long = flag.Bool("long", false, "damage 500 files")

// A model with a damaged file, or with a file of another model, is not opened, or it predicts what it did, or
// says that it cannot. Rows are predicted one by one, so that those without a part in the damage are.
func TestDamagedModelsAreNotBelieved(t *testing.T) {
	cases := 40
	if *long {
		cases = 500
	}
	var folders []string
	var rows *batch.Batch
	var want [][]float32
	for seed := range uint64(2) {
		m, path := trained(t, func(j *job.Job) {
			*j = j.InMode(job.Sync)
			j.Training.Seed, j.Rows.Hot.Share, j.Model.EmbeddingDim = 1-seed, 0.1, 256
		})
		if folders = append(folders, m.Folder()); seed == 0 {
			rows = read(t, m, path)
			var err error
			if want, err = predictEach(m, rows); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	harmless, late := 0, 0
	damage.Each(t, cases, folders[0], folders[1], func(what, name string) {
		named := func(err error) {
			text := err.Error()
			if name != checkpoint.ManifestFile && !strings.Contains(text, ": "+name+": ") ||
				!strings.HasPrefix(text, "model "+folders[0]) || strings.Contains(text, "\n") {
				t.Errorf("%s: error %v", what, err)
			}
		}
		m, err := inference.Open(folders[0])
		if err != nil {
			named(err)
			return
		}
		defer m.Close()
		got, err := predictEach(m, rows)
		for i := range got {
			if got[i] != nil && !slices.Equal(got[i], want[i]) {
				t.Errorf("%s: row %d is predicted as %v, want %v", what, i, got[i], want[i])
			}
		}
		if err == nil {
			harmless++
			err = m.Verify() // which looks at bytes, too, that no prediction needs
		} else {
			late++
		}
		if err == nil {
			t.Errorf("%s: it is not found", what)
			return
		}
		named(err)
	})
	if late == 0 {
		t.Error("no damage is found by a prediction")
	}
	t.Logf("of %d damages predictions find %d, and %d have no effect on them", cases, late, harmless)
}

// predictEach returns the predictions of the first rows, nil for those that are an error, and the last error.
func predictEach(m *inference.Model, rows *batch.Batch) (all [][]float32, failed error) {
	for i := range 60 {
		p, err := m.Predict(batch.Slice(rows, i, i+1))
		if err != nil {
			p, failed = nil, err
		}
		all = append(all, p)
	}
	return all, failed
}

// Of requests that are computed together, those that need no damaged row are predicted.
func TestDamagedRowsFailTheirRequestsAlone(t *testing.T) {
	m, path := trained(t, func(j *job.Job) { j.Model.EmbeddingDim = 256 })
	rows := read(t, m, path)
	want, err := predictEach(m, rows)
	if err := errors.Join(err, m.Close()); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(m.Folder(), checkpoint.RowsFile(0, 2))
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	data[6000] ^= 1 // in the embedding of some row
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if m, err = inference.Open(m.Folder()); err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	alone, err := predictEach(m, rows)
	good := slices.IndexFunc(alone, func(p []float32) bool { return p != nil })
	if !checkpoint.IsDamage(err) || good < 0 {
		t.Fatalf("error %v, and row %d is predicted", err, good)
	}
	gate, taken := make(chan struct{}), make(chan struct{}, 1000)
	q := inference.NewQueue(m, inference.QueueLimits{Rows: 1000, Waiting: 1000, Computed: func(int, int) {
		taken <- struct{}{}
		<-gate
	}})
	var clients sync.WaitGroup
	ask := func(i int) {
		clients.Go(func() {
			got, err := q.Predict(t.Context(), batch.Slice(rows, i, i+1))
			if alone[i] == nil && !checkpoint.IsDamage(err) ||
				alone[i] != nil && (err != nil || !slices.Equal(got, want[i])) {
				t.Errorf("row %d: %v, error %v; alone %v", i, got, err, alone[i])
			}
		})
	}
	for range runtime.GOMAXPROCS(0) { // no worker is free any more
		ask(good)
		<-taken
	}
	for i := range alone {
		ask(i)
	}
	for q.Waiting() < len(alone) {
		runtime.Gosched()
	}
	close(gate)
	clients.Wait()
	q.Close()
}
