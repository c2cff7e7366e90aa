package datasets

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/input"
)

func readText(cfg job.Data, text string, skip int) (*batch.Batch, int, error) {
	in, err := input.New("file", strings.NewReader(text))
	if err != nil {
		return nil, 0, err
	}
	defer in.Close()
	dropped := &droppedRows{policy: job.OnBadRow{Skip: skip}}
	b, err := formatOf(&cfg).readText(in, dropped)
	return b, dropped.count, err
}

// criteoLine returns a line with a label, a first integer and a first category; the others are 1
// and "ff".
func criteoLine(label, integer, category string) string {
	fields := []string{label, integer}
	fields = append(fields, slices.Repeat([]string{"1"}, 12)...)
	fields = append(fields, category)
	fields = append(fields, slices.Repeat([]string{"ff"}, 25)...)
	return strings.Join(fields, "\t") + "\n"
}

func testCSV() job.Data {
	return job.Data{Kind: job.KindCSV, CSV: &job.Table{
		Slots:   []job.IDColumn{{Column: "user"}, {Column: "tags", Separator: "|"}},
		Numeric: []string{"age"}, Label: "click",
	}}
}

const csvHeader = "user,age,tags,click,unused\n"

func TestBadRowsAreNamed(t *testing.T) {
	criteo, libfm, table := job.Data{Kind: job.KindCriteo}, job.Data{Kind: job.KindLibFM}, testCSV()
	good := map[job.DataKind]string{
		job.KindCriteo: criteoLine("1", "5", "0a"),
		job.KindLibFM:  "1 3:1 4:1\n",
		job.KindCSV:    csvHeader + "ann,30,x|y,1,\n",
	}
	for _, c := range []struct {
		cfg                  job.Data
		row                  string
		column, value, cause string
	}{
		{criteo, "1\t2\t3\n", "", "", "3 tab-separated fields, want 40"},
		{criteo, criteoLine("2", "5", "0a"), "clicked", "2", "label must be 0 or 1"},
		{criteo, criteoLine("", "5", "0a"), "clicked", "", "label must be 0 or 1"},
		{criteo, criteoLine("0", "5.5", "0a"), "I1", "5.5", "not an integer"},
		{criteo, criteoLine("0", "NaN", "0a"), "I1", "NaN", "not an integer"},
		{criteo, criteoLine("0", "99999999999999999999", "0a"), "I1", "99999999999999999999",
			"not an integer"},
		{criteo, criteoLine("0", "5", "0x"), "C1", "0x", "not a hexadecimal hash"},
		{libfm, "2 3:1\n", "label", "2", "label must be"},
		{libfm, " \t\n", "label", "", "label must be"},
		{libfm, "1 3:1 4\n", "feature 2", "4", "not of the form"},
		{libfm, "1 3:0.5\n", "feature 1", "3:0.5", "value must be 1"},
		{libfm, "1 3:NaN\n", "feature 1", "3:NaN", "value must be 1"},
		{libfm, "1 3:\n", "feature 1", "3:", "value must be 1"},
		{libfm, "1 -3:1\n", "feature 1", "-3:1", "index is not"},
		{libfm, "1 18446744073709551616:1\n", "feature 1", "18446744073709551616:1", "index is not"},
		{table, "bob,30,x,1\n", "", "", "4 fields, want 5"},
		{table, "bob,30,x,yes,\n", "click", "yes", `label must be one of ["1"] and ["0"]`},
		{table, "bob,,x,1,\n", "age", "", "not a number"},
		{table, "bob,old,x,1,\n", "age", "old", "not a number"},
		{table, "bob,NaN,x,1,\n", "age", "NaN", "not a finite"},
		{table, "bob,-Inf,x,1,\n", "age", "-Inf", "not a finite"},
		{table, "bob,1e39,x,1,\n", "age", "1e39", "not a finite"},
		{table, "bob,1e999,x,1,\n", "age", "1e999", "not a finite"},
		{table, "b\"ob,30,x,1,\n", "", "", `bare "`},
	} {
		before := good[c.cfg.Kind]
		line := strings.Count(before, "\n") + 1
		_, _, err := readText(c.cfg, before+c.row, 0)
		var bad *BadRowError
		if !errors.As(err, &bad) || !errors.Is(err, ErrBadRow) {
			t.Errorf("%q: error %v, want a bad row", c.row, err)
			continue
		}
		if bad.File != "file" || bad.Line != line || bad.Column != c.column || bad.Value != c.value ||
			!strings.Contains(bad.Reason, c.cause) {
			t.Errorf("%q: %+v, want line %d, column %q, value %q, reason %q", c.row, bad, line, c.column,
				c.value, c.cause)
		}
		b, dropped, err := readText(c.cfg, before+c.row, 1)
		if err != nil || b.Samples != 1 || dropped != 1 {
			t.Errorf("%q: skipping: error %v, %d dropped", c.row, err, dropped)
		}
	}
}

func TestOneBadRowTooManyFails(t *testing.T) {
	text := "1 3:1\nx\n0 3:1\ny\nz\n"
	if b, dropped, err := readText(job.Data{Kind: job.KindLibFM}, text, 3); err != nil || b.Samples != 2 ||
		dropped != 3 {
		t.Errorf("skip 3: %d dropped, error %v", dropped, err)
	}
	_, _, err := readText(job.Data{Kind: job.KindLibFM}, text, 2)
	want := `file:5: bad row: column label: "z": label must be 0 or 1, or -1 or 1 ` +
		`(on-bad-row allows 2 and as many were skipped before)`
	if err == nil || err.Error() != want || !errors.Is(err, ErrBadRow) {
		t.Errorf("skip 2: error %v, want %s", err, want)
	}
}

func TestLongBadValuesAreShortened(t *testing.T) {
	err := &BadRowError{File: "f", Line: 1, Column: "c", Value: strings.Repeat("a", 1000), Reason: "r"}
	if n := len(err.Error()); n > 100 {
		t.Errorf("message of %d bytes", n)
	}
}

func TestCriteoValues(t *testing.T) {
	text := criteoLine("1", "", "") + criteoLine("0", "-3", "68fd1e64") + criteoLine("0", "7", "68fd1e64")
	b, _, err := readText(job.Data{Kind: job.KindCriteo}, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	// Missing and negative integers are 0; 7 is log 8.
	for i, want := range []float64{0, 0, math.Log(8)} {
		if got := float64(b.Dense[i*13]); math.Abs(got-want) > 1e-6 {
			t.Errorf("row %d: I1 = %v, want %v", i, got, want)
		}
	}
	ids := b.Slots[0].IDs
	if ids[0] == ids[1] || ids[1] != ids[2] || ids[1] != CategoryID("68fd1e64") || ids[0] != CategoryID("") {
		t.Errorf("ids of C1: %x", ids)
	}
}

func TestLibfmFields(t *testing.T) {
	for _, c := range []struct {
		name, train, test string
		slots             int
	}{
		{"same count", "1 7:1 9:1\n-1 8:1 9:1\n", "0 1:1\t2:1 \n", 2},
		{"train differs", "1 7:1 9:1\n-1 8:1\n", "0 1:1 2:1\n", 1},
		{"test differs", "1 7:1 9:1\n-1 8:1 9:1\n", "0 1:1\n", 1},
		{"one each", "1 7:1\n", "0 1:1\n", 1},
		{"none", "1\n", "0\n", 1},
	} {
		dir := t.TempDir()
		write(t, dir, "train", c.train)
		write(t, dir, "test", c.test)
		data, err := Open(job.Data{Kind: job.KindLibFM, Train: "train", Test: "test"}, dir)
		if err != nil || len(data.Schema.Slots) != c.slots || len(data.Train.Slots) != c.slots ||
			len(data.Test.Slots) != c.slots {
			t.Errorf("%s: %+v, error %v; want %d slots", c.name, data, err, c.slots)
			continue
		}
		if c.slots == 2 && (!slices.Equal(data.Train.Slots[0].IDs, []uint64{7, 8}) ||
			data.Test.Slots[1].SampleIDs(0)[0] != 2) {
			t.Errorf("%s: train %v, test %v", c.name, data.Train.Slots, data.Test.Slots)
		}
	}
}

func TestCSVValues(t *testing.T) {
	cfg := testCSV()
	cfg.CSV.Comment, cfg.CSV.EmptyNumeric = "#", new(-1.0)
	text := "\xef\xbb\xbf" + csvHeader + "# a comment\n\n ann , 30 , \"x|y\", 1,\r\n,,,0,unused\n"
	b, _, err := readText(cfg, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(b.Dense, []float32{30, -1}) || !slices.Equal(b.Labels, []float32{1, 0}) {
		t.Errorf("dense %v, labels %v", b.Dense, b.Labels)
	}
	if !slices.Equal(b.Slots[0].IDs, []uint64{CategoryID("ann"), CategoryID("")}) {
		t.Errorf("users %x", b.Slots[0].IDs)
	}
	if !slices.Equal(b.Slots[1].SampleIDs(0), []uint64{CategoryID("x"), CategoryID("y")}) ||
		len(b.Slots[1].SampleIDs(1)) != 0 {
		t.Errorf("tags %x", b.Slots[1])
	}
}

// With a blank as delimiter, empty fields remain.
func TestCSVTabs(t *testing.T) {
	cfg := testCSV()
	cfg.CSV.Delimiter, cfg.CSV.Columns = "\t", []string{"user", "age", "tags", "click"}
	b, _, err := readText(cfg, "\t30\t\t1\n", 0)
	if err != nil || b.Dense[0] != 30 || b.Slots[0].IDs[0] != CategoryID("") {
		t.Errorf("error %v, batch %+v", err, b)
	}
}

func TestCSVHeaderErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "not even a header",
		"user,age,click\n": `no column "tags": the file has ["user" "age" "click"]`,
		csvHeader:          "no rows",
	} {
		if _, _, err := readText(testCSV(), text, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

func gzipped(t testing.TB, text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	io.WriteString(w, text)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func zstandard(t testing.TB, text string) string {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(w.EncodeAll([]byte(text), nil))
}

func TestCompressionIsFoundByContent(t *testing.T) {
	const text = "1 3:1\n0 4:1\n"
	for name, data := range map[string]string{"plain": text, "gzip": gzipped(t, text),
		"zstd": zstandard(t, text)} {
		b, _, err := readText(job.Data{Kind: job.KindLibFM}, data, 0)
		if err != nil || b.Samples != 2 {
			t.Errorf("%s: error %v, batch %+v", name, err, b)
		}
	}
}

func TestTruncatedFiles(t *testing.T) {
	var rows strings.Builder
	for range 5000 {
		rows.WriteString(criteoLine("1", "5", "0a"))
	}
	for _, whole := range []string{gzipped(t, rows.String()), zstandard(t, rows.String())} {
		for _, keep := range []int{5, len(whole) / 2, len(whole) - 1} {
			_, _, err := readText(job.Data{Kind: job.KindCriteo}, whole[:keep], 0)
			if !errors.Is(err, io.ErrUnexpectedEOF) ||
				!strings.HasPrefix(err.Error(), "file: compressed data ends early") {
				t.Errorf("%d of %d bytes: error %v", keep, len(whole), err)
			}
		}
	}
	table := gzipped(t, csvHeader+strings.Repeat("ann,30,\"x|y\",1,\n", 1000))
	for _, keep := range []int{15, 60, len(table) - 9} {
		if _, _, err := readText(testCSV(), table[:keep], 0); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("csv, %d of %d bytes: error %v", keep, len(table), err)
		}
	}
}

func TestTooLongLineIsRefused(t *testing.T) {
	_, _, err := readText(job.Data{Kind: job.KindCriteo}, strings.Repeat("x", input.RowBytesMax+1), 0)
	if err == nil || !strings.Contains(err.Error(),
		"file:1: a row is longer than 1048575 bytes: check that the file has the given kind") {
		t.Errorf("error %v", err)
	}
}

func TestCategoryIDs(t *testing.T) {
	seen := map[uint64]string{}
	for _, text := range []string{"", "a", "b", "ab", "ba", "?", " "} {
		id := CategoryID(text)
		if id != CategoryID([]byte(text)) {
			t.Errorf("%q: text and bytes have different ids", text)
		}
		if other, ok := seen[id]; ok {
			t.Errorf("%q and %q collide", text, other)
		}
		seen[id] = text
	}
}

// Rows of JSON lines are those of the same table as CSV, also in blocks, compressed and in a stream.
func TestJSONLinesAreTheirTable(t *testing.T) {
	const text = `{"user":"ann","age":30,"tags":["x","y"],"click":1,"unused":{"a":[1]}}
{"click":0,"tags":[],"user":"bob \"b\"","age":-2.5e1}

{"tags":"z|x","click":1,"user":17,"age":"4"}
`
	const table = csvHeader + "ann,30,x|y,1,\n\"bob \"\"b\"\"\",-2.5e1,,0,\n\n17,4,z|x,1,\n"
	want, _, err := readText(testCSV(), table, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, written := range []string{text, strings.TrimSuffix(text, "\n"), "\ufeff" + text, gzipped(t, text),
		strings.ReplaceAll(text, "\n", "\r\n"), strings.Replace(text, "{", " { ", 1)} {
		got, _, err := readText(testCSV(), written, 0)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v, error %v", written, got, want, err)
		}
	}
	sameRows(t, testCSV(), text, 0, 2, 10)
}

// A bad row of JSON lines is named by its line.
func TestBadJSONLinesAreNamed(t *testing.T) {
	const good = `{"user":"ann","age":30,"tags":[],"click":1}` + "\n"
	for row, want := range map[string]string{
		"no":                               "file:2: bad row: no JSON: want an object in each line",
		"[1]":                              "file:2: bad row: no JSON object: ",
		`{"user":"ann","age":30,"click":1`: "file:2: bad row: no JSON: ",
		`{"user":"ann","age":30}`:          `file:2: bad row: column click: "": `,
		`{"user":"a","user":"b","age":30,"click":1}`:             "file:2: bad row: column user: ",
		`{"user":["a","b"],"age":30,"click":1}`:                  `column user: "[\"a\",\"b\"]": a list, `,
		`{"user":"a","tags":["a|b"],"age":30,"click":1}`:         `column tags: "a|b": a value of a list, `,
		`{"user":"a","tags":[["a"]],"age":30,"click":1}`:         `column tags: "[\"a\"]": want a text, `,
		`{"user":{"id":1},"age":30,"click":1}`:                   "column user: ",
		`{"user":"a","age":"old","click":1}`:                     `column age: "old": not a number`,
		`{"user":"a","age":1e999,"click":1}`:                     `column age: "1e999": not a finite`,
		`{"user":` + strings.Repeat("[", 20_000) + `}`:           "file:2: bad row: no JSON: ",
		`{"x":"` + strings.Repeat("a", input.RowBytesMax) + `"}`: "file:2: a row is longer than",
	} {
		_, _, err := readText(testCSV(), good+row+"\n"+good, 0)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %s", row, err, want)
		}
	}
	if _, _, err := readText(job.Data{Kind: job.KindCriteo}, good, 0); err == nil ||
		!strings.Contains(err.Error(), "describe its columns in a job file, with kind csv") {
		t.Error(err)
	}
}
