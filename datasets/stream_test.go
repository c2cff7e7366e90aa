package datasets

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// manyRows is a table with quoted line ends, blank lines, a comment, lists and bad rows.
func manyRows(rows int) string {
	var text strings.Builder
	text.WriteString("\ufeff# made by hand\n\nuser,tags,price,click\n")
	for i := range rows {
		price := fmt.Sprint(float64(i%11)*0.5 + float64(i)/5000)
		if i%13 == 0 {
			price = "NA"
		}
		fmt.Fprintf(&text, "u%d,\"a%d|b\n%d\",%s,%d\n", i%97, i%5, i%3, price, i%4/3)
		if i%50 == 0 {
			text.WriteString("\nu1,a,cheap,1\n")
		}
	}
	return text.String()
}

// streamJob describes a file of manyRows.
func streamJob(t *testing.T, text string, split job.Split) job.Data {
	t.Helper()
	path := filepath.Join(t.TempDir(), "table.csv")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return job.Data{Kind: job.KindCSV, Path: path, Split: split, Cache: job.CacheOff, Stream: true,
		OnBadRow: job.OnBadRow{Skip: 1 << 20}, CSV: &job.Table{Label: "click", Comment: "#",
			Missing: []string{"NA"},
			Slots:   []job.IDColumn{{Column: "user"}, {Column: "tags", Separator: "|"}},
			Numeric: []string{"price"}},
		Derived: []job.DerivedSlot{{Name: "tag, price", Columns: []job.DerivedColumn{{Column: "tags"},
			{Column: "price", Edges: []float64{1, 4.5}}}}}}
}

func mustOpen(t *testing.T, data job.Data) *Dataset {
	t.Helper()
	set, err := Open(data, "")
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// near reports whether two batches are equal but for rounding of the numbers, whose scaling is
// summed in another order.
func near(a, b *batch.Batch) bool {
	for i, value := range a.Dense {
		if !(math.Abs(float64(value-b.Dense[i])) <= 1e-6) { // also if one is NaN
			return false
		}
	}
	return a.Samples == b.Samples && reflect.DeepEqual(a.Slots, b.Slots) && slices.Equal(a.Labels, b.Labels)
}

func TestStreamedRowsAreThoseInMemory(t *testing.T) {
	data := streamJob(t, manyRows(40_000), job.Split{Test: 0.1})
	set := mustOpen(t, data)
	data.Stream = false
	whole := mustOpen(t, data)
	if blocks := set.Rows.(*fileRows).blocks.Blocks(); blocks < 3 {
		t.Fatalf("%d blocks are too few for this test", blocks)
	}
	if set.TrainRows() != whole.TrainRows() || set.DroppedRows != whole.DroppedRows ||
		!reflect.DeepEqual(set.BadRows, whole.BadRows) || !near(set.Test, whole.Test) {
		t.Errorf("%d training rows, %d dropped; want %d, %d, and the same test rows", set.TrainRows(),
			set.DroppedRows, whole.TrainRows(), whole.DroppedRows)
	}
	if got, want := set.LabelMean(0), whole.LabelMean(0); got != want {
		t.Errorf("a share of %v positive training rows, want %v", got, want)
	}
	if set.Rows.IsList(0) || !set.Rows.IsList(1) {
		t.Error("only tags are a list")
	}
	all, err := set.InMemory()
	if err != nil || !near(all.Train, whole.Train) {
		t.Errorf("the training rows differ, error %v", err)
	}
	// In the order of a shuffled training, read by several goroutines.
	j := job.Default()
	j.Training.Shuffle, j.Training.ShuffleWindow, j.Training.GlobalBatch = true, 3000, 512
	sources := [2]*ReadAhead{}
	for i, d := range []*Dataset{set, whole} {
		if sources[i], err = TrainingSource(d, &j); err != nil {
			t.Fatal(err)
		}
	}
	var readers sync.WaitGroup
	for r := range 4 {
		readers.Go(func() {
			for step := r; step < sources[0].Steps(); step += 4 {
				got, err := sources[0].Source.Read(step)
				want, _ := sources[1].Source.Read(step)
				if err != nil || !near(got, want) {
					t.Errorf("step %d differs, error %v", step, err)
					return
				}
			}
		})
	}
	readers.Wait()
}

// Test rows are drawn one by one; together with the training rows they are all rows. The scaling
// is that of the training rows.
func TestStreamedRandomSplit(t *testing.T) {
	set := mustOpen(t, streamJob(t, manyRows(20_000), job.Split{How: job.SplitRandom, Test: 0.25, Seed: 7}))
	all, err := set.InMemory()
	if err != nil {
		t.Fatal(err)
	}
	if n := set.Test.Samples; n+set.TrainRows() != 20_000 || n < 4700 || n > 5300 {
		t.Errorf("%d test rows, %d training rows", n, set.TrainRows())
	}
	if want := all.LabelMean(0); set.LabelMean(0) != want {
		t.Errorf("a share of %v positive training rows, want %v", set.LabelMean(0), want)
	}
	mean, squares, known := 0.0, 0.0, 0.0
	for _, value := range all.Train.Dense {
		if value != 0 { // not missing
			mean, squares, known = mean+float64(value), squares+float64(value)*float64(value), known+1
		}
	}
	mean, squares = mean/known, squares/known
	if math.Abs(mean) > 1e-6 || math.Abs(squares-1) > 1e-6 {
		t.Errorf("the numbers of training rows have mean %g and variance %g; want 0 and 1", mean, squares)
	}
}

// compressed returns a text as gzip and as zstd.
func compressed(t *testing.T, text string) map[string]string {
	t.Helper()
	var zipped, packed bytes.Buffer
	w := gzip.NewWriter(&zipped)
	z, err := zstd.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []io.WriteCloser{w, z} {
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return map[string]string{"gzip": zipped.String(), "zstd": packed.String()}
}

// Compressed text is streamed as plain text is, with the same rows in the same order, and leaves
// nothing behind.
func TestCompressedTextIsStreamed(t *testing.T) {
	text := manyRows(20_000)
	caches := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", caches)
	for _, how := range []string{job.SplitRandom, job.SplitLast} {
		split := job.Split{How: how, Test: 0.1}
		plain := mustOpen(t, streamJob(t, text, split))
		for name, packed := range compressed(t, text) {
			set := mustOpen(t, streamJob(t, packed, split))
			if !reflect.DeepEqual(set.Test, plain.Test) || set.DroppedRows != plain.DroppedRows ||
				!reflect.DeepEqual(set.Scaling, plain.Scaling) {
				t.Errorf("%s, %s: test rows, dropped rows or scaling differ", how, name)
			}
			j := job.Default()
			j.Training.Shuffle, j.Training.ShuffleWindow, j.Training.GlobalBatch = true, 3000, 512
			var sources []*ReadAhead
			for _, d := range []*Dataset{set, plain} {
				source, err := TrainingSource(d, &j)
				if err != nil {
					t.Fatal(err)
				}
				sources = append(sources, source)
			}
			for step := sources[0].Steps() - 1; step >= 0; step -= 3 {
				got, err := sources[0].Read(step)
				want, _ := sources[1].Read(step)
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("%s, %s: step %d differs, error %v", how, name, step, err)
				}
			}
		}
	}
	left, err := filepath.Glob(filepath.Join(caches, "tandem", "rows", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, error %v", left, err)
	}
}

// A file that is cut short, bad rows and a cache folder that is none are reported as elsewhere.
func TestCompressedTextThatIsWrong(t *testing.T) {
	text := manyRows(5_000)
	packed := compressed(t, text)["gzip"]
	data := streamJob(t, packed[:len(packed)/2], job.Split{})
	if _, err := Open(data, ""); err == nil || !strings.Contains(err.Error(), "compressed data ends early") {
		t.Errorf("cut short: error %v", err)
	}
	data = streamJob(t, packed, job.Split{})
	data.OnBadRow = job.OnBadRow{}
	var bad *BadRowError
	if _, err := Open(data, ""); !errors.As(err, &bad) || bad.Column != "price" {
		t.Errorf("a bad row: error %v", err)
	}
	t.Setenv("XDG_CACHE_HOME", data.Path) // a file
	data = streamJob(t, packed, job.Split{})
	if _, err := Open(data, ""); err == nil || !strings.Contains(err.Error(), "set XDG_CACHE_HOME") {
		t.Errorf("without a folder: error %v", err)
	}
}

// Few blocks are kept, however many are read, and the last used ones are.
func TestStreamKeepsFewBlocks(t *testing.T) {
	set := mustOpen(t, streamJob(t, manyRows(60_000), job.Split{Test: 0.1}))
	rows := set.Rows.(*fileRows)
	rows.decoded.keep(2)
	for _, err := range set.TrainChunks() {
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := len(rows.decoded.blocks); n != 2 || rows.decoded.order.Len() != 2 || rows.blocks.Blocks() < 4 {
		t.Errorf("%d of %d blocks are kept, want 2", n, rows.blocks.Blocks())
	}
	for _, number := range []int{0, 1, 0, 2} {
		if _, err := rows.decoded.get(number, rows.decode); err != nil {
			t.Fatal(err)
		}
	}
	if rows.decoded.blocks[1] != nil || rows.decoded.blocks[0] == nil {
		t.Error("block 1 was kept instead of block 0, which was used after it")
	}
}

func TestStreamErrors(t *testing.T) {
	text := manyRows(20_000)
	data := streamJob(t, text, job.Split{})
	set := mustOpen(t, data)
	shorter := strings.Replace(text[:300_000], "u5,", "u5;", 10)
	if err := os.WriteFile(data.Path, []byte(shorter), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{0, set.TrainRows() - 1} {
		if _, err := set.Rows.Gather([]int32{int32(at)}); err == nil ||
			!strings.Contains(err.Error(), "the file has changed since it was opened") {
			t.Errorf("row %d of another file: error %v", at, err)
		}
	}
	data.Cache = t.TempDir()
	if _, err := Open(data, ""); err == nil || !strings.Contains(err.Error(), "not with stream") {
		t.Errorf("with a cache: error %v", err)
	}
	data = streamJob(t, "user,tags,price,click\n", job.Split{})
	if _, err := Open(data, ""); err == nil || !strings.Contains(err.Error(), "no rows") {
		t.Errorf("without rows: error %v", err)
	}
	data = streamJob(t, "user,tags,price,click\nu,a,1,1\n", job.Split{})
	if _, err := Open(data, ""); err == nil || !strings.Contains(err.Error(), "leaves no rows") {
		t.Errorf("with one row: error %v", err)
	}
}
