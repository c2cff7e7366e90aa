package checkpoint_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/exec/exectest"
	"tandem/algo/numeric/table"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// Each file of a model that is not there, or has another size, is named when the model is opened.
func TestMissingFilesAreNamed(t *testing.T) {
	j := exectest.Job(2, 2)
	j.Rows.Hot.Share = someShare
	folder, _ := trained(t, j)
	names, err := os.ReadDir(folder)
	if err != nil || len(names) < 6 {
		t.Fatalf("files %v, error %v", names, err)
	}
	for _, name := range names {
		path := filepath.Join(folder, name.Name())
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for what, damage := range map[string]func() error{
			"no such file": func() error { return os.Remove(path) },
			"bytes, and the manifest says ": func() error {
				return os.WriteFile(path, append(slices.Clone(data), 0), 0o600)
			},
			"is damaged": func() error {
				changed := slices.Clone(data)
				changed[len(data)/2] ^= 1
				return os.WriteFile(path, changed, 0o600)
			},
		} {
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			c, err := checkpoint.Open(folder)
			if err == nil {
				err = errors.Join(c.Verify(), c.Close())
			}
			if err == nil || !strings.Contains(err.Error(), name.Name()) ||
				name.Name() != checkpoint.ManifestFile && !strings.Contains(err.Error(), what) {
				t.Errorf("%s: error %v, want %q", name.Name(), err, what)
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := mustOpen(t, folder)
	if err := errors.Join(c.Verify(), c.Close(), c.Close()); err != nil {
		t.Errorf("a whole model that is closed twice: %v", err)
	}
}

// Rows without an entry are counted by Missing as by Read, which gives zeros for them.
func TestMissingRows(t *testing.T) {
	folder, state := trained(t, exectest.Job(2, 2))
	c := mustOpen(t, folder)
	rows, err := c.Rows()
	if err != nil {
		t.Fatal(err)
	}
	if want := len(rowsOf(state)); rows.Len() != want || want == 0 {
		t.Errorf("%d rows, want %d", rows.Len(), want)
	}
	dim := rows.Dims()[0]
	for sign, embedding := range rows.Trained() {
		want := slices.Concat(make([]float32, dim), embedding, make([]float32, dim))
		signs, got := []uint64{^uint64(0), sign, ^uint64(1)}, make([]float32, 3*dim)
		for i := range got {
			got[i] = 7
		}
		missing, err := rows.Read(signs, got)
		if missing != 2 || rows.Missing(signs) != 2 || rows.Missing(signs[1:2]) != 0 ||
			!slices.Equal(got, want) || err != nil {
			t.Fatalf("%d rows are missing, of %v, error %v, want %v", missing, got, err, want)
		}
	}
}

// seenRow is what two models have of a row.
type seenRow struct {
	updates uint32
	values  []float32
	state   string
}

// seenRows returns the rows of a state by sign.
func seenRows(s exec.State) map[uint64]seenRow {
	all := map[uint64]seenRow{}
	for owner := range s.Plan().Owners() {
		for _, rows := range s.Tables(owner) {
			c := columnsOf(rows)
			embedding, state := rows.EmbeddingBytes(), rows.StateBytes()
			for i, sign := range c.Signs {
				one := seenRow{updates: c.Updates[i], state: string(c.States[i*state:][:state])}
				for bytes := c.Embeddings[i*embedding:][:embedding]; len(bytes) > 0; bytes = bytes[4:] {
					one.values = append(one.values, math.Float32frombits(binary.LittleEndian.Uint32(bytes)))
				}
				all[sign] = one
			}
		}
	}
	return all
}

// What distinguishes the rows of two models is what their states say, in both directions: here one has seen
// more samples, and so more ids.
func TestDifferencesOfRows(t *testing.T) {
	j := exectest.Job(2, 2)
	j.Rows.Precision = table.Precisions()[0]
	var models []*checkpoint.Checkpoint
	var rows []map[uint64]seenRow
	for i, samples := range []int{160, 64} {
		folder := filepath.Join(t.TempDir(), fmt.Sprint(i))
		data := exectest.NewColumns(samples, 16)
		if _, err := train.Run(t.Context(), j, data, data.All,
			train.Options{Trained: func(s exec.State) error {
				rows = append(rows, seenRows(s))
				return checkpoint.Save(folder, manifest(j), s)
			}}); err != nil {
			t.Fatal(err)
		}
		models = append(models, mustOpen(t, folder))
	}
	for i := range 2 {
		d, err := checkpoint.Compare(models[i], models[1-i])
		if err != nil {
			t.Fatal(err)
		}
		want := checkpoint.RowsDifference{First: d.Rows.First, Sign: d.Rows.Sign}
		a, b := rows[i], rows[1-i]
		largest := func(sign uint64) (largest float64) {
			for k, x := range a[sign].values {
				largest = max(largest, math.Abs(float64(x)-float64(b[sign].values[k])))
			}
			return largest
		}
		for sign, x := range a {
			y, common := b[sign]
			switch {
			case !common:
				want.OnlyFirst++
				continue
			case x.updates != y.updates:
				want.Updates++
			}
			want.Common++
			if x.state != y.state {
				want.States++
			}
			if !slices.Equal(x.values, y.values) {
				want.Embeddings++
			}
			want.Largest = max(want.Largest, largest(sign))
		}
		want.OnlySecond = len(b) - want.Common
		if d.Rows != want || d.None() || want.Embeddings == 0 || want.OnlyFirst+want.OnlySecond == 0 {
			t.Errorf("%+v, want %+v", d.Rows, want)
		}
		if largest(d.Rows.Sign) != want.Largest || largest(d.Rows.First) == 0 {
			t.Errorf("row %#x differs by %v, want %v; the first by %v", d.Rows.Sign, largest(d.Rows.Sign),
				want.Largest, largest(d.Rows.First))
		}
	}
}

// A model whose parts are written apart is the model, and what cannot be completed leaves nothing.
func TestModelsWrittenApart(t *testing.T) {
	j := exectest.Job(2, 2)
	j.Rows.Hot.Share = someShare
	folder, state := trained(t, j)
	root := t.TempDir()
	failed := errors.New("a process has died")
	export := func(names []string, err error) func(string) ([]string, error) {
		return func(where string) ([]string, error) {
			if !filepath.IsAbs(where) {
				t.Errorf("the folder %s is relative", where)
			}
			e, begun := checkpoint.BeginExport(where, "part", state, nil, &checkpoint.Chain{})
			if begun != nil || e.Folder() != where {
				t.Fatalf("folder %s, error %v", e.Folder(), begun)
			}
			<-e.Done()
			return names, errors.Join(err, e.Wait())
		}
	}
	apart := filepath.Join(root, "apart")
	if err := checkpoint.SaveApart(apart, manifest(j), state, export([]string{"part"}, nil)); err != nil {
		t.Fatal(err)
	}
	d, err := checkpoint.Compare(mustOpen(t, folder), mustOpen(t, apart))
	if err != nil || !d.None() {
		t.Errorf("%+v, error %v", d, err)
	}
	other := filepath.Join(root, "other")
	for _, c := range []struct {
		folder, want string
		names        []string
		err          error
	}{
		{other, failed.Error(), []string{"part"}, failed},
		{other, "none: no such file or directory; all processes must reach this folder", []string{"none"},
			nil},
		{other, "comes twice", []string{"part", "part"}, nil},
		{other, "", nil, nil},
		{apart, "exists already", nil, nil},
	} {
		if len(c.names) == 2 { // of which the first is removed when it is read
			one := export(c.names, nil)
			twice := func(where string) ([]string, error) {
				_, err := one(where)
				text, failed := os.ReadFile(filepath.Join(where, "part"))
				return []string{"part", "again"}, errors.Join(err, failed,
					os.WriteFile(filepath.Join(where, "again"), text, 0o600))
			}
			err = checkpoint.SaveApart(c.folder, manifest(j), state, twice)
		} else {
			err = checkpoint.SaveApart(c.folder, manifest(j), state, export(c.names, c.err))
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c.names, err, c.want)
		}
	}
	a, err := checkpoint.BeginApart(other, manifest(j), state, export([]string{"part"}, nil))
	if err != nil {
		t.Fatal(err)
	}
	a.Discard()
	left, err := os.ReadDir(root)
	if err != nil || len(left) != 1 {
		t.Errorf("%v are left, error %v", left, err)
	}
}

// Of a folder's entries, complete checkpoints alone count: folders whose name is a step, with a manifest.
func TestWhichCheckpointsThereAre(t *testing.T) {
	root := t.TempDir()
	steps := func(want ...int) {
		t.Helper()
		newest, some, err := checkpoint.Newest(root)
		oldest, any, failed := checkpoint.Oldest(root)
		if err != nil || failed != nil || some != (want != nil) || any != some ||
			some && (newest != slices.Max(want) || oldest != slices.Min(want)) {
			t.Errorf("from %d to %d, there are some: %t, errors %v, %v; want %v", oldest, newest, some, err,
				failed, want)
		}
	}
	add := func(name string, complete bool) {
		t.Helper()
		err := os.Mkdir(filepath.Join(root, name), 0o700)
		if complete {
			err = errors.Join(err,
				os.WriteFile(filepath.Join(root, name, checkpoint.ManifestFile), nil, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	steps()
	for _, name := range []string{"-1", "007", "+8", "x", "9.damaged", ".9-writing"} {
		add(name, true)
	}
	add("2", false)
	add("200", false)
	if err := os.WriteFile(filepath.Join(root, "300"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	steps()
	for _, name := range []string{"9", "100", "20"} {
		add(name, true)
	}
	steps(9, 20, 100)
	add("0", true)
	steps(0, 100)
	for _, nowhere := range []string{filepath.Join(root, "none"), root + "/x"} {
		if _, ok, err := checkpoint.Newest(nowhere); ok || err != nil {
			t.Errorf("%s: a checkpoint, error %v", nowhere, err)
		}
	}
	if _, _, err := checkpoint.Newest(filepath.Join(root, "300")); err == nil {
		t.Error("a file is a folder of checkpoints")
	}
	if _, _, err := checkpoint.Oldest(filepath.Join(root, "300")); err == nil {
		t.Error("a file is a folder of checkpoints")
	}
}

// Each damaged checkpoint is set aside under a name of its own, an intact one stays, and one that is not
// there needs nothing.
func TestDamagedCheckpointsAreSetAside(t *testing.T) {
	folder, _ := trained(t, exectest.Job(2, 2))
	if err := checkpoint.SetAside(folder); err == nil || !strings.Contains(err.Error(), "is intact") {
		t.Error(err)
	}
	for _, name := range []string{".damaged", ".damaged-2", ".damaged-3"} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, checkpoint.ManifestFile), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := checkpoint.SetAside(folder); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(folder + name); err != nil {
			t.Error(err)
		}
		if err := checkpoint.SetAside(folder); err != nil {
			t.Errorf("one that is not there: %v", err)
		}
	}
}
