package checkpoint

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/exec/exectest"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/shard"
)

// small returns a model with hot rows, and its manifest.
func small(t testing.TB) (exec.State, *Manifest) {
	t.Helper()
	s, m := empty(t)
	for owner, signs := range [][]uint64{{1, 2, 4}, {3, 5}} {
		if err := s.Tables(owner)[0].Lookup(signs, make([]float32, 3*len(signs))); err != nil {
			t.Fatal(err)
		}
	}
	return s, m
}

// empty is small before it has rows.
func empty(t testing.TB) (exec.State, *Manifest) {
	t.Helper()
	j := exectest.Job(1, 1)
	j.Rows.Hot.Share = 1
	j.Rows.Hot.SetRows(shard.NewHot([]uint64{3, 5}))
	e, err := exec.New(j, exectest.NewColumns(16, 16), backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	return e.Model().State(), &Manifest{Mode: j.Training.Mode, Job: []byte("name: small\n"),
		Scaling: []batch.Scaling{{Std: 1}}}
}

// counted is a source that knows how many samples come before a step, and has too many to be asked for each.
type counted struct{ batch.Source }

func (counted) SamplesBefore(step int) int { return 16*step - 3 }

func TestSamplesOfManyStepsAreNotAddedUp(t *testing.T) {
	j := exectest.Job(1, 1)
	if m := Describe(&j, nil, nil, counted{}, 10); m.Samples != 157 {
		t.Errorf("%d samples", m.Samples)
	}
}

// A model has the graph that it was given, which is read up to a size and if it is intact, and no other one.
func TestGraphIsKept(t *testing.T) {
	s, m := small(t)
	graph := []byte("a graph")
	for _, want := range [][]byte{nil, graph} {
		m.Graph = want
		folder := filepath.Join(t.TempDir(), "model")
		if err := Save(folder, m, s); err != nil {
			t.Fatal(err)
		}
		saved, err := Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		defer saved.Close()
		if got, err := saved.ReadGraph(len(graph)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
		if err := saved.Verify(); err != nil {
			t.Error(err)
		}
		if want == nil {
			continue
		}
		if _, err := saved.ReadGraph(len(graph) - 1); err == nil ||
			!strings.Contains(err.Error(), "module.onnx has 7 bytes, and at most 6 are read") {
			t.Error(err)
		}
		if err := os.WriteFile(filepath.Join(folder, GraphFile), []byte("a giraf"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := saved.ReadGraph(len(graph)); !errors.Is(err, errDamaged) {
			t.Error(err)
		}
		if err := saved.Verify(); !errors.Is(err, errDamaged) {
			t.Error(err)
		}
	}
}

// A program that knows only version 1 never loads a model with hot rows: their manifests have version 2, and
// those of other models version 1.
func TestVersionSaysWhetherRowsAreHot(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "model")
	s, m := small(t)
	if err := Save(folder, m, s); err != nil {
		t.Fatal(err)
	}
	written, err := readManifest(folder)
	if err != nil || written.Version != VersionHotRows || written.Rows.Hot.Rows != 2 {
		t.Fatalf("error %v, manifest %+v", err, written)
	}
	for _, c := range []struct {
		version int
		hot     *Server
		fits    bool
	}{{Version, nil, true}, {VersionHotRows, nil, false}, {Version, written.Rows.Hot, false},
		{VersionHotRows, written.Rows.Hot, true}} {
		changed := *written
		changed.Version, changed.Rows.Hot = c.version, c.hot
		text, err := changed.encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeManifest(text); (err == nil) != c.fits {
			t.Errorf("version %d, hot rows %v: error %v", c.version, c.hot, err)
		}
	}
	for _, name := range []string{blocksFile(RowsFile(0, 1)), blocksFile(RowsFile(1, 1)), RowsFile(1, 1)} {
		lacks := *written
		lacks.Files = slices.Clone(written.Files)
		lacks.Files = slices.DeleteFunc(lacks.Files, func(f File) bool { return f.Name == name })
		if err := lacks.check(); err == nil || err.Error() != "the manifest does not list "+name {
			t.Errorf("without %s: error %v", name, err)
		}
	}
}

// A program that knows no means, maxima or weights never takes them for sums: such a model has a version of
// its own, and is read with the slots that it was saved with.
func TestVersionSaysHowRowsArePooled(t *testing.T) {
	for version, slot := range map[int]batch.Slot{VersionMean: {Scale: batch.Mean},
		VersionMax: {Pooling: batch.Max}, VersionWeights: {Scale: batch.Mean, Weighted: true}} {
		testPoolingVersion(t, version, slot)
	}
}

// testPoolingVersion saves and reads a model with a slot that is pooled as another.
func testPoolingVersion(t *testing.T, version int, slot batch.Slot) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "model")
	j, columns := exectest.Job(1, 1), exectest.NewColumns(16, 16)
	own := &columns.Fields.Slots[0]
	own.Pooling, own.Scale, own.Weighted = slot.Pooling, slot.Scale, slot.Weighted
	e, err := exec.New(j, columns, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	_, m := empty(t)
	if err := Save(folder, m, e.Model().State()); err != nil {
		t.Fatal(err)
	}
	written, err := readManifest(folder)
	if err != nil || written.Version != version {
		t.Fatalf("error %v, manifest %+v", err, written)
	}
	if got, err := written.Schema.Batch(); err != nil || got.Slots[0].Scale != slot.Scale ||
		got.Slots[0].Pooling != slot.Pooling {
		t.Errorf("error %v, schema %+v", err, got)
	}
	written.Version = Version
	text, err := written.encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decodeManifest(text); err == nil {
		t.Error("a model with means or maxima was read as version 1")
	}
}

// What a manifest contradicts is refused by name, so that nothing behind it needs to check again.
func TestContradictionsAreRefused(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "model")
	s, m := small(t)
	if err := Save(folder, m, s); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		change func(m *Manifest)
		want   string // "" if it may pass
	}{
		{func(m *Manifest) {}, ""},
		{func(m *Manifest) { m.Rows.Servers = nil }, "no embedding PS"},
		{func(m *Manifest) { m.Rows.Dim = 0 }, "with rows of 0 and "},
		{func(m *Manifest) { m.Rows.StateValues = -1 }, "-1 values"},
		{func(m *Manifest) { m.Rows.Precision = "fp8" }, "fp8"},
		{func(m *Manifest) { m.Rows.Dim++ }, "and rows have"},
		{func(m *Manifest) { m.Rows.Servers[0].Rows = -1 }, "-1 rows of a PS"},
		{func(m *Manifest) { m.Rows.Servers[0].Changes = -1 }, "changes in -1 files"},
		{func(m *Manifest) { m.Rows.Servers[0].Changes = len(m.Files) }, "rows of a PS with changes in"},
		{func(m *Manifest) { m.Rows.Servers[0].Candidates = -1 }, "-1 candidates"},
		{func(m *Manifest) { m.Rows.Hot.Rows = -1 }, "-1 rows of a PS"},
		{func(m *Manifest) { m.Rows.Servers[0].Changes = 1 },
			"version 2 of the format, and it is one of version 3"},
		{func(m *Manifest) { m.Scaling = nil }, "1 numeric columns with the scaling of 0"},
		{func(m *Manifest) { m.Files[0].Bytes = -1 }, "of -1 bytes"},
		{func(m *Manifest) { m.Files[0].Name = "" }, `the file ""`},
		{func(m *Manifest) { m.Files[0].Name = "../x" }, `the file "../x"`},
		{func(m *Manifest) { m.Files[0].Name = `..\x` }, `the file "..\\x"`},
		{func(m *Manifest) { m.Files[0].Name = ManifestFile }, "the file"},
		{func(m *Manifest) { m.Files = m.without(DenseFile) }, "does not list " + DenseFile},
		{func(m *Manifest) { m.Files = m.without(JobFile) }, "does not list " + JobFile},
		{func(m *Manifest) { m.Files[0].Bytes = 0 }, ""},
	} {
		changed, err := readManifest(folder)
		if err != nil {
			t.Fatal(err)
		}
		c.change(changed)
		err = changed.check()
		if c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d: error %v, want %q", i, err, c.want)
		}
	}
}

// without returns the files but one.
func (m *Manifest) without(name string) []File {
	return slices.DeleteFunc(slices.Clone(m.Files), func(f File) bool { return f.Name == name })
}
