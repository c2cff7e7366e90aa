package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
)

// A folder has all its files, but not those that are left out, or it is not there.
func TestFoldersAreComplete(t *testing.T) {
	root, broken := t.TempDir(), errors.New("no room")
	begun := func(err error) func(string) error {
		return func(path string) error {
			return errors.Join(os.WriteFile(path, []byte("half"), 0o600), err)
		}
	}
	long := bytes.Repeat([]byte("0123456789"), 1<<18) // more than is buffered
	contents := []content{{"a", whole([]byte("A"))}, {"b", begun(&leftOutError{"it is too new"})},
		{"c", written(func(w io.Writer) error { _, err := w.Write(long); return err })}}
	for _, name := range []string{"new", "again/"} {
		folder := filepath.Join(root, name) + strings.Repeat("/", strings.Count(name, "/"))
		files, leftOut, err := writeFolder(folder, contents)
		if err != nil || !slices.Equal(files, []string{"a", "c"}) ||
			!slices.Equal(leftOut, []string{"without b: it is too new"}) {
			t.Errorf("files %q, without %q, error %v", files, leftOut, err)
		}
		if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%v, error %v: want a folder for all users", info, err)
		}
		for file, want := range map[string][]byte{"a": []byte("A"), "c": long} {
			if got, err := os.ReadFile(filepath.Join(folder, file)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s has %d bytes, error %v", file, len(got), err)
			}
		}
		if _, err := os.Lstat(filepath.Join(folder, "b")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("what is left out is there: %v", err)
		}
	}
	link := filepath.Join(root, "link")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		folder, want string
		write        func(string) error
	}{
		{filepath.Join(root, "x"), "d: no room", begun(broken)},
		{filepath.Join(root, "x"), "d: no room", written(func(io.Writer) error { return broken })},
		{filepath.Join(root, "none", "x"), "there is no folder " + filepath.Join(root, "none") +
			": make it first", whole(nil)},
		{filepath.Join(root, "new"), filepath.Join(root, "new") + " exists: remove it", whole(nil)},
		{link, link + " exists: remove it", whole(nil)},
		{filepath.Join(root, "new", "a", "x"), "not a directory", whole(nil)},
	} {
		files, leftOut, err := writeFolder(c.folder, append(slices.Clone(contents), content{"d", c.write}))
		if err == nil || !strings.Contains(err.Error(), c.want) || files != nil || leftOut != nil {
			t.Errorf("%s: files %q, without %q, error %v, want %s", c.folder, files, leftOut, err, c.want)
		}
	}
	left, err := os.ReadDir(root)
	if err != nil || len(left) != 3 {
		t.Errorf("%v are left, error %v: want again, link and new", left, err)
	}
}

// A file that cannot be written to the end is an error, though its content fits the buffer.
func TestFullDisksAreNoticed(t *testing.T) {
	write := written(func(w io.Writer) error { _, err := w.Write([]byte("x")); return err })
	if _, err := os.Stat("/dev/full"); err == nil {
		if err := write("/dev/full"); err == nil {
			t.Error("a full disk is not noticed")
		}
	}
	if err := write(filepath.Join(t.TempDir(), "none", "x")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// columns.json says all that another program needs to read a file as the model has.
func TestColumnsInJSON(t *testing.T) {
	empty := 7.5
	j := job.Default()
	j.Data = job.Data{Kind: job.KindCSV, CSV: &job.Table{Delimiter: ";", Comment: "#",
		Columns: []string{"user", "tags", "x", "at", "y"}, Label: "y", EmptyNumeric: &empty,
		Slots: []job.IDColumn{{Column: "user", Whole: true}, {Column: "tags", Separator: "|", Weights: "n",
			WeightSeparator: "/"}},
		Numeric: []string{"x", "at"}, Missing: []string{"NA", "-"}, DecimalComma: []string{"x"},
		Thousands: []string{"at"}},
		Derived: []job.DerivedSlot{{Name: "both", Columns: []job.DerivedColumn{{Column: "user"},
			{Column: "x", Edges: []float64{1, 2.5}}}}},
		Means: []string{"user"}}
	schema := &batch.Schema{PrefixBits: 4, Labels: []string{"y"}, Dense: []string{"x", "at", "mean of user"},
		Slots: []batch.Slot{{Name: "user", Dim: 2, Scale: batch.SqrtScaled,
			HashStack: batch.HashStack{Rounds: 3, Rows: 40}, FixedSize: 9},
			{Name: "tags", Dim: 3, Scale: batch.Mean}, {Name: "both", Dim: 1, Pooling: batch.Raw,
				FixedSize: 5}}}
	var out bytes.Buffer
	c := newColumns(&j, schema, []batch.Scaling{{}, {},
		{Values: batch.NewIDValues(map[uint64]float32{7: 0.5})}})
	if err := c.write(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"prefix_bits": 4,`, `"numbers": [
    "x",
    "at"
  ],`, `"labels": [
    "y"
  ],`, `"slot": "user",`, `"delimiter": ";",
    "comment": "#",
    "columns": [
      "user",
      "tags",
      "x",
      "at",
      "y"
    ],
    "missing": [
      "NA",
      "-"
    ],
    "decimal_comma": [
      "x"
    ],
    "thousands": [
      "at"
    ],
    "empty_number": 7.5
  }`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s has no %s", &out, want)
		}
	}
	want := []slot{
		{Name: "user", Dim: 2, Prefix: 1 << 60, Whole: true, SqrtScaling: true, HashStackRounds: 3,
			HashStackRows: 40},
		{Name: "tags", Dim: 3, Prefix: 2 << 60, Separator: "|", Weights: "n", WeightSeparator: "/",
			Mean: true},
		{Name: "both", Dim: 1, Prefix: 3 << 60, FixedSize: 5,
			Derived: []derived{{Column: "user"}, {Column: "x", Edges: []float64{1, 2.5}}}}}
	for i, s := range c.Slots {
		if got, want := text(t, s), text(t, want[i]); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A module has its constructor, the scaling of numbers and, with squared loss, the units of labels.
func TestModuleInJSON(t *testing.T) {
	j := job.Default()
	j.Model.Class, j.Model.Arguments = "Net", map[string]any{"width": 3}
	scaling := []batch.Scaling{{Mean: 1, Std: 2}, {Mean: 3, Std: 4}}
	if got, want := text(t, newModule(&j, scaling)),
		`{"class":"Net","arguments":{"width":3},"scaling":[[1,2],[3,4]]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	j.Model.Loss, j.Model.Heads = model.SquaredLoss, []model.Head{{Center: -5, Scale: 3}, {Center: 1,
		Scale: 2}}
	if got, want := text(t, newModule(&j, nil)),
		`{"class":"Net","arguments":{"width":3},"scaling":[],"units":[[-5,3],[1,2]]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// text returns a value as JSON in one line.
func text(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
