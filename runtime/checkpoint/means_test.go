package checkpoint

import (
	"path/filepath"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/exec/exectest"
	"tandem/algo/numeric/batch"
)

// A program that does not know numbers that follow from ids must not read a model with some: it has a version
// of its own, and keeps the numbers.
func TestVersionSaysThatNumbersFollowFromIDs(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "model")
	j, columns := exectest.Job(1, 1), exectest.NewColumns(16, 16)
	e, err := exec.New(j, columns, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	_, m := empty(t)
	m.Scaling = make([]batch.Scaling, len(columns.Fields.Dense))
	for i := range m.Scaling {
		m.Scaling[i].Std = 1
	}
	last := &m.Scaling[len(m.Scaling)-1]
	last.Values = batch.NewIDValues(map[uint64]float32{3: 0.5, 1 << 63: -2})
	if err := Save(folder, m, e.Model().State()); err != nil {
		t.Fatal(err)
	}
	written, err := readManifest(folder)
	if err != nil || written.Version != VersionMeans {
		t.Fatalf("error %v, manifest %+v", err, written)
	}
	if got := written.Scaling[len(m.Scaling)-1]; got != *last {
		t.Errorf("numbers %q, want %q", got.Values, last.Values)
	}
	written.Version = Version
	text, err := written.encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decodeManifest(text); err == nil {
		t.Error("a model with numbers that follow from ids was read as version 1")
	}
}
