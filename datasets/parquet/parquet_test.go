package parquet_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	library "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	_ "tandem/datasets/parquet"
)

// testdata/make.py has written the files in testdata, with pyarrow: the same table with
// different codecs, encodings, page versions and row groups, and as text.
func files(t testing.TB) []string {
	found, err := filepath.Glob("testdata/*.parquet")
	if err != nil || len(found) < 4 {
		t.Fatalf("files %v, error %v", found, err)
	}
	return found
}

// spec describes all columns of the table except rough and point.
func spec(separator string) *job.Table {
	return &job.Table{
		Slots: []job.IDColumn{
			{Column: "user"}, {Column: "item"}, {Column: "tags", Separator: separator},
			{Column: "codes", Separator: separator},
		},
		Numeric: []string{"price", "age"}, Label: "click",
	}
}

func parquetConfig(change func(*job.Table)) job.Data {
	s := spec("")
	change(s)
	return job.Data{Kind: job.KindParquet, Parquet: s, Cache: job.CacheOff}
}

// The rows of a file in any encoding equal those of the same table as text.
func TestParquetRowsEqualTextRows(t *testing.T) {
	want, err := datasets.ReadRows(job.Data{Kind: job.KindCSV, CSV: spec("|"), Cache: job.CacheOff},
		"testdata/text.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files(t) {
		got, err := datasets.ReadRows(parquetConfig(func(*job.Table) {}), file)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for s, slot := range want.Batch.Slots {
			if !slices.Equal(got.Batch.Slots[s].IDs, slot.IDs) ||
				!slices.Equal(got.Batch.Slots[s].Offsets, slot.Offsets) {
				t.Errorf("%s: slot %s differs", file, want.Schema.Slots[s].Name)
			}
		}
		if !slices.Equal(got.Batch.Dense, want.Batch.Dense) ||
			!slices.Equal(got.Batch.Labels, want.Batch.Labels) {
			t.Errorf("%s: numbers or labels differ", file)
		}
	}
}

// Streamed rows are those in memory, for any row groups.
func TestParquetIsStreamed(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, file := range files(t) {
		data := parquetConfig(func(s *job.Table) { s.Numeric = append(s.Numeric, "rough") })
		data.OnBadRow.Skip, data.Split.Test = 2, 0.25
		var err error
		if data.Path, err = filepath.Abs(file); err != nil {
			t.Fatal(err)
		}
		whole, err := datasets.Open(data, "")
		if err != nil {
			t.Fatal(err)
		}
		data.Stream = true
		streamed, err := datasets.Open(data, "")
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		all, err := streamed.InMemory()
		if err != nil || streamed.DroppedRows != 2 || !reflect.DeepEqual(streamed.BadRows, whole.BadRows) {
			t.Errorf("%s: %d rows dropped, error %v", file, streamed.DroppedRows, err)
			continue
		}
		for _, b := range [][2]*batch.Batch{{all.Train, whole.Train}, {streamed.Test, whole.Test}} {
			if b[0].Samples != b[1].Samples || !reflect.DeepEqual(b[0].Slots, b[1].Slots) ||
				!slices.Equal(b[0].Labels, b[1].Labels) || !cmp.Equal(b[0].Dense, b[1].Dense,
				cmpopts.EquateApprox(0, 1e-6)) {
				t.Errorf("%s: rows differ", file)
			}
		}
		data.OnBadRow.Skip = 1
		if _, err := datasets.Open(data, ""); !errors.Is(err, datasets.ErrBadRow) ||
			!strings.Contains(err.Error(), filepath.Base(file)+":6: bad row: column rough") {
			t.Errorf("%s: error %v, want row 6", file, err)
		}
	}
}

// A row group that is larger than a part, with lists across parts and pages, gives the rows of the file.
func TestLargeRowGroupsAreStreamed(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	type row struct {
		User  string   `parquet:"user"`
		Tags  []string `parquet:"tags"`
		Price *float64 `parquet:"price,optional"`
		Click int32    `parquet:"click"`
	}
	path := filepath.Join(t.TempDir(), "large.parquet")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := library.NewGenericWriter[row](file, library.PageBufferSize(10_000))
	const all = 150_000
	for i := range all {
		r := row{User: fmt.Sprint("u", i*7919%9973), Tags: []string{"a", "b", "c"}[:i%4%3],
			Click: int32(i % 3 / 2)}
		if i%5 > 0 {
			r.Price = new(float64(i % 17))
		}
		if _, err := w.Write([]row{r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	data := job.Data{Kind: job.KindParquet, Path: path, Cache: job.CacheOff, Split: job.Split{Test: 0.1},
		Parquet: &job.Table{Label: "click", Numeric: []string{"price"}, Missing: []string{""},
			Slots: []job.IDColumn{{Column: "user"}, {Column: "tags"}}}}
	whole, err := datasets.Open(data, "")
	if err != nil {
		t.Fatal(err)
	}
	data.Stream = true
	streamed, err := datasets.Open(data, "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := streamed.InMemory()
	if err != nil || got.Train.Samples != all*9/10 ||
		!reflect.DeepEqual(got.Train.Slots, whole.Train.Slots) ||
		!slices.Equal(got.Train.Labels, whole.Train.Labels) ||
		!cmp.Equal(got.Train.Dense, whole.Train.Dense, cmpopts.EquateApprox(0, 1e-6)) {
		t.Errorf("%d rows differ, error %v", got.Train.Samples, err)
	}
}

func TestParquetBadRows(t *testing.T) {
	for _, file := range files(t) {
		cfg := parquetConfig(func(s *job.Table) { s.Numeric = append(s.Numeric, "rough") })
		_, err := datasets.ReadRows(cfg, file)
		if !errors.Is(err, datasets.ErrBadRow) ||
			!strings.HasSuffix(err.Error(),
				filepath.Base(file)+`:5: bad row: column rough: "": not a number`) {
			t.Errorf("%s: error %v, want row 5", file, err)
		}
		cfg.OnBadRow.Skip = 2
		rows, err := datasets.ReadRows(cfg, file)
		if err != nil || rows.Batch.Samples != 298 || rows.DroppedRows != 2 || rows.BadRows[1].Line != 6 ||
			rows.BadRows[1].Value != "NaN" {
			t.Errorf("%s: error %v, %+v", file, err, rows)
			continue
		}
		// Rows 5 and 6 are skipped, and the others keep their order.
		if rough := batch.Column(rows.Batch.Dense, 3, 2); rough[3] != 3 || rough[4] != 6 {
			t.Errorf("%s: numbers %v", file, rough[:6])
		}
		cfg = parquetConfig(func(s *job.Table) { s.Numeric, s.EmptyNumeric = []string{"rough"}, new(-1.0) })
		cfg.OnBadRow.Skip = 1
		if rows, err := datasets.ReadRows(cfg, file); err != nil || rows.Batch.Dense[4] != -1 ||
			rows.BadRows[0].Line != 6 {
			t.Errorf("%s: a null with empty-numeric: error %v", file, err)
		}
		cfg = parquetConfig(func(s *job.Table) { s.Label = "age"; s.Numeric = nil })
		cfg.OnBadRow.Skip = 1000
		// ages 0 and 1 of every 90
		if rows, err := datasets.ReadRows(cfg, file); err != nil || rows.Batch.Samples != 8 {
			t.Errorf("%s: label age: error %v", file, err)
		}
		cfg = parquetConfig(func(s *job.Table) { s.Label, s.Slots = "user", s.Slots[1:] })
		cfg.OnBadRow.Skip = 1000
		if _, err := datasets.ReadRows(cfg, file); !errors.Is(err, datasets.ErrNoRows) ||
			!strings.Contains(err.Error(), "all are bad") {
			t.Errorf("%s: label user: error %v", file, err)
		}
	}
}

func TestParquetColumnErrors(t *testing.T) {
	for _, c := range []struct {
		change func(*job.Table)
		want   string
	}{
		{func(s *job.Table) { s.Slots[0].Column = "usr" },
			`no column "usr": the file has ["user" "item" "tags" "codes" "price" "age" "click" ` +
				`"point" "rough"]`},
		{func(s *job.Table) { s.Slots[0].Column = "rough" },
			`column "rough" holds DOUBLE: ids must be text, whole numbers or booleans`},
		{func(s *job.Table) { s.Numeric, s.Slots = []string{"user"}, s.Slots[1:] },
			`column "user" holds STRING: numeric columns must hold numbers or booleans`},
		{func(s *job.Table) { s.Numeric, s.Slots = []string{"codes"}, s.Slots[:1] },
			`column "codes" holds lists: labels and numbers need one value per row`},
		{func(s *job.Table) { s.Slots[0].Column = "point" },
			`column "point" is nested (point.x): a column must hold values, or lists of them`},
	} {
		_, err := datasets.ReadRows(parquetConfig(c.change), "testdata/snappy.parquet")
		if want := "datasets: testdata/snappy.parquet: " + c.want; err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// The number in the file is the decimal without its point, and becomes one with it. Ids are refused.
func TestParquetDecimals(t *testing.T) {
	type row struct {
		User  string   `parquet:"user"`
		Price int64    `parquet:"price,decimal(2:12)"`
		Small int32    `parquet:"small,decimal(1:9)"`
		Large [16]byte `parquet:"large,decimal(3:38)"`
		Click bool     `parquet:"click"`
	}
	minus := [16]byte{0: 0xff, 14: 0xfb, 15: 0xe8} // -1.048 without its point
	for i := range 13 {
		minus[i+1] = 0xff
	}
	path := filepath.Join(t.TempDir(), "decimal.parquet")
	if err := library.WriteFile(path, []row{{"ann", 1250, -5, [16]byte{14: 0x01, 15: 0x02}, true},
		{"bob", -99, 7, minus, false}}); err != nil {
		t.Fatal(err)
	}
	s := &job.Table{Slots: []job.IDColumn{{Column: "user"}}, Numeric: []string{"price", "small", "large"},
		Label: "click"}
	data := job.Data{Kind: job.KindParquet, Parquet: s, Cache: job.CacheOff}
	rows, err := datasets.ReadRows(data, path)
	if err != nil {
		t.Fatal(err)
	}
	if want := []float32{12.5, -0.5, 0.258, -0.99, 0.7, -1.048}; !slices.Equal(rows.Batch.Dense, want) {
		t.Errorf("decimals are %v, want %v", rows.Batch.Dense, want)
	}
	s.Numeric, s.Slots = nil, []job.IDColumn{{Column: "price"}}
	_, err = datasets.ReadRows(data, path)
	if err == nil || !strings.HasSuffix(err.Error(),
		`column "price" holds DECIMAL(12,2): write it as text if it is an id`) {
		t.Errorf("error %v", err)
	}
}

// Whole numbers that a file holds as floating-point ones are the ids that text files have.
func TestParquetWholeIDs(t *testing.T) {
	type row struct {
		User  *float64 `parquet:"user,optional"`
		Click bool     `parquet:"click"`
	}
	path := filepath.Join(t.TempDir(), "whole.parquet")
	rowsOfFile := []row{{new(17.0), true}, {nil, false}, {new(math.NaN()), true}}
	if err := library.WriteFile(path, rowsOfFile); err != nil {
		t.Fatal(err)
	}
	s := &job.Table{Slots: []job.IDColumn{{Column: "user", Whole: true}}, Label: "click"}
	data := job.Data{Kind: job.KindParquet, Parquet: s, Cache: job.CacheOff}
	rows, err := datasets.ReadRows(data, path)
	if err != nil {
		t.Fatal(err)
	}
	var want []uint64
	for _, text := range []string{"17", "", "NaN"} {
		want = append(want, datasets.CategoryID(text))
	}
	if !slices.Equal(rows.Batch.Slots[0].IDs, want) {
		t.Errorf("ids are %v, want %v", rows.Batch.Slots[0].IDs, want)
	}
	s.Slots[0].Whole = false
	if _, err := datasets.ReadRows(data, path); err == nil ||
		!strings.Contains(err.Error(), "ids must be text, whole numbers or booleans") {
		t.Errorf("error %v", err)
	}
}

// Labels that are shares have any type of numbers, or are texts.
func TestParquetShares(t *testing.T) {
	type row struct {
		User  string  `parquet:"user"`
		Rate  float32 `parquet:"rate"`
		Exact int32   `parquet:"exact,decimal(2:5)"`
		Text  string  `parquet:"text"`
	}
	path := filepath.Join(t.TempDir(), "rates.parquet")
	if err := library.WriteFile(path, []row{{"ann", 0.25, 25, "0.25"}, {"bob", 1, 100, "1"},
		{"cid", 0, 0, "0"}}); err != nil {
		t.Fatal(err)
	}
	for _, label := range []string{"rate", "exact", "text"} {
		data := job.Data{Kind: job.KindParquet, Cache: job.CacheOff, Parquet: &job.Table{Label: label,
			LabelValues: job.ShareLabels, Slots: []job.IDColumn{{Column: "user"}}}}
		rows, err := datasets.ReadRows(data, path)
		if err != nil {
			t.Fatal(err)
		}
		if want := []float32{0.25, 1, 0}; !slices.Equal(rows.Batch.Labels, want) {
			t.Errorf("%s: labels are %v, want %v", label, rows.Batch.Labels, want)
		}
	}
}

// Clicks of impressions, with weights, are those of the same table as text.
func TestParquetImpressions(t *testing.T) {
	type row struct {
		User   string  `parquet:"user"`
		Seen   int64   `parquet:"seen"`
		Clicks int32   `parquet:"clicks"`
		W      float64 `parquet:"w"`
	}
	table := job.Table{Label: "clicks", Impressions: "seen", Weight: "w",
		Slots: []job.IDColumn{{Column: "user"}}}
	path := filepath.Join(t.TempDir(), "clicks.parquet")
	if err := library.WriteFile(path, []row{{"a", 4, 1, 0.5}, {"b", 0, 0, 1}, {"c", 2, 3, 1},
		{"d", 2, 2, -1}, {"e", 2, 2, 0}}); err != nil {
		t.Fatal(err)
	}
	data := job.Data{Kind: job.KindParquet, Parquet: &table, Cache: job.CacheOff,
		OnBadRow: job.OnBadRow{Skip: 2}}
	rows, err := datasets.ReadRows(data, path)
	if err != nil {
		t.Fatal(err)
	}
	if labels, weights := rows.Batch.Labels, rows.Batch.Weights; !slices.Equal(labels,
		[]float32{0.25, 0, 1}) || !slices.Equal(weights, []float32{2, 0, 0}) {
		t.Errorf("labels %v, weights %v", labels, weights)
	}
	for i, want := range []string{`clicks: "3": must be at most the number of impressions, 2`,
		`w: "-1": must be at least 0`} {
		bad := rows.BadRows[i].Error()
		if !strings.Contains(bad, want) {
			t.Errorf("bad row %d: %s, want %s", i, bad, want)
		}
	}
}

// A truncated file has no footer. A file with changed bytes can be read as other data, because
// checksums are optional in Parquet, but never causes a panic.
func TestParquetDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cut.parquet")
	for _, file := range files(t) {
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for keep := 0; keep < len(whole); keep += 97 {
			os.WriteFile(path, whole[:keep], 0o644)
			if _, err := datasets.ReadRows(parquetConfig(func(*job.Table) {}), path); err == nil ||
				!strings.Contains(err.Error(), "not a whole Parquet file") {
				t.Fatalf("%s, %d of %d bytes: error %v", file, keep, len(whole), err)
			}
		}
		refused := 0
		for at := 3; at < len(whole); at += 31 {
			bad := slices.Clone(whole)
			bad[at] ^= 0x55
			os.WriteFile(path, bad, 0o644)
			if _, err := datasets.ReadRows(parquetConfig(func(*job.Table) {}), path); err != nil {
				refused++
			}
		}
		if refused == 0 {
			t.Errorf("%s: no damage at all is found", file)
		}
	}
	if _, err := datasets.ReadRows(parquetConfig(func(*job.Table) {}), "testdata/text.csv"); err == nil ||
		!strings.Contains(err.Error(), "not a whole Parquet file") {
		t.Errorf("text: error %v", err)
	}
}

// A file whose row groups do not add up to its rows is refused before memory is allocated.
func TestParquetRowCountsMustAgree(t *testing.T) {
	whole, err := os.ReadFile("testdata/snappy.parquet")
	if err != nil {
		t.Fatal(err)
	}
	end := len(whole) - 8 // length of the footer, magic
	begin := end - int(binary.LittleEndian.Uint32(whole[end:]))
	for _, c := range []struct {
		rows int64 // of the second group, of 100
		want string
	}{
		{1 << 45, "a row group of 35184372088832 rows in a file of 300"},
		{99, "row groups of 299 rows in a file of 300"},
	} {
		var meta format.FileMetaData
		if err := thrift.Unmarshal(new(thrift.CompactProtocol), whole[begin:end], &meta); err != nil {
			t.Fatal(err)
		}
		meta.RowGroups[1].NumRows = c.rows
		footer, err := thrift.Marshal(new(thrift.CompactProtocol), &meta)
		if err != nil {
			t.Fatal(err)
		}
		file := append(slices.Clone(whole[:begin]), footer...)
		file = append(binary.LittleEndian.AppendUint32(file, uint32(len(footer))), "PAR1"...)
		path := filepath.Join(t.TempDir(), "odd.parquet")
		if err := os.WriteFile(path, file, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := datasets.ReadRows(parquetConfig(func(*job.Table) {}), path); err == nil ||
			!strings.Contains(err.Error(), "the file is damaged: copy or download it again ("+c.want) {
			t.Errorf("%d rows: error %v", c.rows, err)
		}
	}
}

func BenchmarkReadParquet(b *testing.B) {
	rows := 0
	for b.Loop() {
		got, err := datasets.ReadRows(parquetConfig(func(*job.Table) {}), "testdata/snappy.parquet")
		if err != nil {
			b.Fatal(err)
		}
		rows += got.Batch.Samples
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}
