package infer

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"tandem/algo/job"
	"tandem/datasets"
	_ "tandem/datasets/parquet"
)

// uses returns what the columns of a table were taken for, by name.
func uses(t *Table) map[string]Use {
	all := map[string]Use{}
	for _, c := range t.Columns {
		all[c.Name] = c.Use
	}
	return all
}

// The columns of a Parquet file are inferred for every encoding as those of the same table in text, except
// that floating-point numbers are numbers. The job that follows reads the file without a bad row.
func TestParquetIsInferred(t *testing.T) {
	const folder = "../parquet/testdata"
	text, err := File(filepath.Join(folder, "text.csv"), Options{})
	if err != nil || text.Data.Kind != job.KindCSV {
		t.Fatalf("kind %s, error %v", text.Data.Kind, err)
	}
	files, err := filepath.Glob(folder + "/*.parquet")
	if err != nil || len(files) < 4 {
		t.Fatalf("files %v, error %v", files, err)
	}
	for _, path := range files {
		got, err := File(path, Options{})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		want := uses(text)
		want["codes"] = ID // lists of two; in text more different ones than an id has
		want["rough"], want["point"] = Number, Ignored
		for name, use := range uses(got) {
			if use != want[name] {
				t.Errorf("%s: %s is taken for %s, want %s", path, name, use, want[name])
			}
		}
		if got.Rows != 300 || got.RowsInFile != 300 || got.LabelMean != text.LabelMean {
			t.Errorf("%s: %+v", path, got)
		}
		if missing := got.Data.Parquet.Missing; !slices.Equal(missing, []string{"", "NaN"}) {
			t.Errorf("%s: missing numbers are %q", path, missing)
		}
		rows, err := datasets.ReadRows(got.Data, path)
		if err != nil || rows.Batch.Samples != 300 {
			t.Errorf("%s: what was inferred cannot be read: %v", path, err)
			continue
		}
		bytes := 300 * 3 * 4.0 // two numbers and a label
		for _, slot := range rows.Batch.Slots {
			bytes += 300*4 + 8*float64(len(slot.IDs))
		}
		// An empty list is taken for one of an id.
		if size := 300 * got.RowBytes; size < bytes || size > 1.1*bytes {
			t.Errorf("%s: %v bytes of rows, want %v", path, size, bytes)
		}
		row := slices.IndexFunc(got.Columns, func(c Column) bool { return c.Name == "point" })
		if why := got.Columns[row].Why; why != "nested (point.x)" {
			t.Errorf("%s: point is ignored because %q", path, why)
		}
	}
}

// Types decide where texts would not.
func TestParquetTypes(t *testing.T) {
	type row struct {
		Code  string    `parquet:"code"`  // of digits
		Bars  string    `parquet:"bars"`  // no list
		Round float64   `parquet:"round"` // without fractions
		Flag  bool      `parquet:"flag"`
		At    time.Time `parquet:"at,timestamp"`
		Paid  int64     `parquet:"paid,decimal(2:12)"`
		User  *float64  `parquet:"user,optional"` // whole, and null in some rows
		Y     float32   `parquet:"y"`
	}
	rows := make([]row, 400)
	for i := range rows {
		rows[i] = row{Code: []string{"1.5", "2.5"}[i%2], Bars: []string{"a|b", "c|d"}[i/2%2],
			Round: float64(i % 5),
			Flag:  i%3 == 0, At: time.Unix(int64(i*7919%997), 0), Paid: int64(i),
			User: []*float64{nil, new(float64(i % 40))}[min(i%7, 1)], Y: float32(1 - min(i%4, 1))}
	}
	path := filepath.Join(t.TempDir(), "types")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := parquet.NewGenericWriter[row](file, parquet.MaxRowsPerRowGroup(150))
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := File(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Use{"code": ID, "bars": ID, "round": Number, "flag": ID, "at": Ignored,
		"paid": Number, "user": ID, "y": Label} {
		if use := uses(got)[name]; use != want {
			t.Errorf("%s is taken for %s, want %s", name, use, want)
		}
	}
	// 400 rows of four ids, two numbers and a label.
	if got.RowsInFile != 400 || got.RowBytes != 4*12+3*4 || got.LabelMean != 0.25 {
		t.Errorf("%+v", got)
	}
	split := job.Split{How: job.SplitLast, Test: 0.25}
	if _, set, _, err := Open(Request{File: path, Split: split}); err != nil || set.Train.Samples != 300 ||
		set.Train.Dense[0] != set.Train.Dense[2*10] || set.Train.Dense[2] != set.Train.Dense[2*11] {
		t.Errorf("what was inferred cannot be opened: %v", err)
	}
	const unknown = `column "Code" is unknown`
	if _, err := File(path, Options{IDs: []string{"Code"}}); err == nil ||
		!strings.Contains(err.Error(), unknown) || !strings.Contains(Hint(err), "--label") {
		t.Errorf("error %v with hint %q, want %q", err, Hint(err), unknown)
	}
	if paid, err := File(path, Options{Label: "paid"}); err != nil || math.Abs(paid.LabelMean-1.995) > 1e-9 {
		t.Errorf("a label of decimal numbers has the mean %v, want 1.995; error %v", paid.LabelMean, err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := parquet.WriteFile(empty, rows[:0]); err != nil {
		t.Fatal(err)
	}
	if _, err := File(empty, Options{}); !errors.Is(err, datasets.ErrNoRows) || Hint(err) != "" ||
		strings.Contains(err.Error(), "header") {
		t.Errorf("a file without rows: error %v with hint %q", err, Hint(err))
	}
	if err := os.Truncate(path, 1000); err != nil {
		t.Fatal(err)
	}
	if _, err := File(path, Options{}); err == nil ||
		!strings.Contains(err.Error(), "not a whole Parquet file") {
		t.Errorf("a file without its end: error %v", err)
	}
}
