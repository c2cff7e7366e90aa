package datasets

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

func positiveRate(b *batch.Batch) float64 {
	var sum float64
	for _, label := range b.Labels {
		sum += float64(label)
	}
	return sum / float64(len(b.Labels))
}

// checkStandardised verifies that every numeric column of b has mean 0 and
// variance 1, up to the rounding of float32.
func checkStandardised(t *testing.T, data *Dataset) {
	t.Helper()
	columns := len(data.Schema.Dense)
	for c := range columns {
		var sum, squares float64
		for i := c; i < len(data.Train.Dense); i += columns {
			x := float64(data.Train.Dense[i])
			sum, squares = sum+x, squares+x*x
		}
		n := float64(data.Train.Samples)
		if math.Abs(sum/n) > 1e-5 || math.Abs(squares/n-1) > 1e-5 {
			t.Errorf("column %s: mean %v, mean square %v; want 0 and 1", data.Schema.Dense[c], sum/n,
				squares/n)
		}
	}
}

func distinct(b *batch.Batch, slot int) int {
	ids := slices.Clone(b.Slots[slot].IDs)
	slices.Sort(ids)
	return len(slices.Compact(ids))
}

// Counts, rates and distinct values come from UCI and from a count with another program; distinct
// values include "?".
func TestAdultIncome(t *testing.T) {
	data, err := Open(job.Data{Kind: job.KindAdultIncome}, "")
	if err != nil {
		t.Fatal(err)
	}
	if data.Train.Samples != 32_561 || data.Test.Samples != 16_281 || data.DroppedRows != 0 {
		t.Errorf("%d train, %d test, %d dropped rows", data.Train.Samples, data.Test.Samples,
			data.DroppedRows)
	}
	if train, test := positiveRate(data.Train), positiveRate(data.Test); math.Abs(train-0.2408) > 5e-5 ||
		math.Abs(test-0.2362) > 5e-5 {
		t.Errorf("positive rates %v and %v, want 0.2408 and 0.2362", train, test)
	}
	var names []string
	for _, slot := range data.Schema.Slots {
		names = append(names, slot.Name)
	}
	want := "workclass education marital-status occupation relationship race sex native-country"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("slots %q, want %q", got, want)
	}
	for s, want := range []int{9, 16, 7, 15, 6, 5, 2, 42} {
		if got := distinct(data.Train, s); got != want {
			t.Errorf("slot %s: %d distinct ids, want %d", names[s], got, want)
		}
	}
	checkStandardised(t, data)
	// The first person is 39 years old and was born in the United States.
	if got := float64(data.Train.Dense[0])*data.Scaling[0].Std + data.Scaling[0].Mean; math.Abs(
		got-39) > 1e-4 {
		t.Errorf("age of the first row %v, want 39", got)
	}
	if got := data.Train.Slots[7].SampleIDs(0)[0]; got != CategoryID("United-States") {
		t.Errorf("country of the first row %x", got)
	}
}

func TestSynthetic(t *testing.T) {
	spec := &job.Synthetic{Seed: 1, TrainRows: 500, TestRows: 300, Numeric: 2,
		Columns: []job.SyntheticColumn{{Name: "user", Cardinality: 50}}}
	data, err := Open(job.Data{Kind: job.KindSynthetic, Synthetic: spec}, "")
	if err != nil {
		t.Fatal(err)
	}
	if data.Train.Samples != 500 || data.Test.Samples != 300 || len(data.TestProbability) != 300 ||
		len(data.Scaling) != 2 {
		t.Errorf("%d train, %d test rows, %d probabilities, %d scalings", data.Train.Samples,
			data.Test.Samples, len(data.TestProbability), len(data.Scaling))
	}
	if _, err := NewSource(WithDim(data.Schema, 8), data.Train, 100, 1, nil); err != nil {
		t.Error(err)
	}
}

// dataDir returns the folder of the real files, which are not part of the module because of their
// size or licence.
func dataDir(t *testing.T) string {
	dir := os.Getenv("TANDEM_DATA")
	if dir == "" {
		t.Skip("TANDEM_DATA is not set")
	}
	return dir
}

func TestCriteoHead(t *testing.T) {
	cfg := job.Data{Kind: job.KindCriteo, Path: "criteo-kaggle-head/train_head10k.txt.gz"}
	data, err := Open(cfg, dataDir(t))
	if err != nil {
		t.Fatal(err)
	}
	if data.Train.Samples != 8_000 || data.Test.Samples != 2_000 || len(data.Schema.Slots) != 26 {
		t.Errorf("%d train, %d test rows, %d slots", data.Train.Samples, data.Test.Samples,
			len(data.Schema.Slots))
	}
	if rate := 0.8*positiveRate(data.Train) + 0.2*positiveRate(data.Test); math.Abs(rate-0.2182) > 5e-5 {
		t.Errorf("positive rate %v, want 0.2182", rate)
	}
	checkStandardised(t, data)
}

func TestFrappe(t *testing.T) {
	cfg := job.Data{Kind: job.KindLibFM, Train: "frappe/nfm_validation.libfm.gz",
		Test: "frappe/nfm_test.libfm.gz"}
	data, err := Open(cfg, dataDir(t))
	if err != nil {
		t.Fatal(err)
	}
	if data.Train.Samples != 57_722 || data.Test.Samples != 28_860 || len(data.Schema.Slots) != 10 {
		t.Errorf("%d train, %d test rows, %d slots", data.Train.Samples, data.Test.Samples,
			len(data.Schema.Slots))
	}
	rate := (positiveRate(data.Train)*57_722 + positiveRate(data.Test)*28_860) / 86_582
	if math.Abs(rate-0.3303) > 5e-5 {
		t.Errorf("positive rate %v, want 0.3303", rate)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestTestRowsHaveTheScalingOfTrainingRows(t *testing.T) {
	dir := t.TempDir()
	spec := &job.Table{Slots: []job.IDColumn{{Column: "u"}}, Numeric: []string{"x"}, Label: "y"}
	write(t, dir, "train.csv", "u,x,y\na,2,0\nb,6,1\n") // mean 4, deviation 2
	write(t, dir, "test.csv", "u,x,y\nb,8,1\n")
	data, err := Open(job.Data{Kind: job.KindCSV, Train: "train.csv", Test: "test.csv", CSV: spec}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if data.Scaling[0] != (batch.Scaling{Mean: 4, Std: 2}) ||
		!slices.Equal(data.Train.Dense, []float32{-1, 1}) ||
		data.Test.Dense[0] != 2 {
		t.Errorf("scaling %v, train %v, test %v", data.Scaling, data.Train.Dense, data.Test.Dense)
	}
	if data.Train.Slots[0].SampleIDs(1)[0] != data.Test.Slots[0].SampleIDs(0)[0] {
		t.Error("train and test disagree on the id of b")
	}
}

func TestSplit(t *testing.T) {
	_, rows := numberedRows(50)
	for _, split := range []job.Split{{}, {Test: 0.3}, {Test: 0.3, How: job.SplitRandom, Seed: 4}} {
		train, test, err := splitRows(split, rows)
		if err != nil {
			t.Fatal(err)
		}
		want := 10 // a fifth
		if split.Test > 0 {
			want = 15
		}
		first, second := rowNumbers(t, train), rowNumbers(t, test)
		if len(second) != want || !slices.IsSorted(first) || !slices.IsSorted(second) {
			t.Errorf("%+v: %d test rows, want %d; train %v, test %v", split, len(second), want, first, second)
		}
		if isLast := second[0] == 50-want; isLast != (split.How != job.SplitRandom) {
			t.Errorf("%+v: test rows %v", split, second)
		}
		all := append(first, second...)
		slices.Sort(all)
		if len(slices.Compact(all)) != 50 {
			t.Errorf("%+v: rows lost or doubled: %v", split, all)
		}
	}
	if _, _, err := splitRows(job.Split{Test: 0.001}, rows); err == nil ||
		!strings.Contains(err.Error(), "split.test: 0.001 of 50 rows") {
		t.Errorf("empty test set: error %v", err)
	}
}

// A random split leaves rows of both classes in both parts if there are two of each.
func TestRandomSplitHasBothClasses(t *testing.T) {
	for _, c := range []struct {
		rows, positive int
		share          float64
	}{{50, 2, 0.2}, {50, 3, 0.2}, {50, 48, 0.2}, {4000, 3, 0.2}, {10, 5, 0.2}, {50, 2, 0.9}, {50, 48, 0.9}} {
		for seed := range uint64(20) {
			_, rows := numberedRows(c.rows)
			clear(rows.Labels)
			for row := range c.positive {
				rows.Labels[row] = 1
			}
			train, test, err := splitRows(job.Split{How: job.SplitRandom, Seed: seed, Test: c.share}, rows)
			if err != nil {
				t.Fatal(err)
			}
			tested := int(c.share * float64(c.rows))
			if test.Samples != tested || !bothClasses(train.Labels) || !bothClasses(test.Labels) {
				t.Errorf("%+v, seed %d: %d test rows, or a part has one class", c, seed, test.Samples)
			}
		}
	}
	_, rows := numberedRows(50)
	clear(rows.Labels)
	rows.Labels[7] = 1
	if _, _, err := splitRows(job.Split{How: job.SplitRandom}, rows); err == nil ||
		!strings.Contains(err.Error(), "one of 50 rows is positive: training and test need one each") {
		t.Errorf("error %v", err)
	}
}

func TestOpenFileErrors(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "empty", "")
	_, err := Open(job.Data{Kind: job.KindCriteo, Path: "missing"}, dir)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), filepath.Join(dir, "missing")) {
		t.Errorf("missing file: %v", err)
	}
	for _, kind := range []job.DataKind{job.KindCriteo, job.KindLibFM} {
		if _, err := Open(job.Data{Kind: kind, Path: "empty"}, dir); !errors.Is(err, ErrNoRows) {
			t.Errorf("%s: empty file: %v", kind, err)
		}
	}
	if _, err := Open(job.Data{Kind: job.KindLibFM, Path: "x"}, ""); err == nil ||
		!strings.Contains(err.Error(), "TANDEM_DATA is not set") {
		t.Errorf("relative path without a folder: %v", err)
	}
	if _, err := Open(job.Data{Kind: job.KindLibFM, Path: "."}, dir); err == nil ||
		!strings.Contains(err.Error(), dir) {
		t.Errorf("a folder as file: %v", err)
	}
}

// Streamed rows are the training rows, in chunks, in batches and all at once.
func TestStreamedRowsAreTheTrainingRows(t *testing.T) {
	spec := job.Synthetic{Seed: 1, TrainRows: 40_000, TestRows: 10, RowsPerDay: 1000, Numeric: 1,
		Columns: []job.SyntheticColumn{{Cardinality: 100, IDsPerRow: 1.5}, {Cardinality: 9, Drift: 0.1}}}
	open := func() *Dataset {
		t.Helper()
		data, err := Open(job.Data{Kind: job.KindSynthetic, Synthetic: &spec}, "")
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	all := open()
	spec.Stream = true
	streamed := open()
	if n := streamed.Train.Samples; n != 0 || streamed.TrainRows() != 40_000 || all.TrainRows() != 40_000 {
		t.Fatalf("%d rows in memory, %d and %d in all", n, streamed.TrainRows(), all.TrainRows())
	}
	inMemory, err := streamed.InMemory()
	if err != nil || !reflect.DeepEqual(inMemory.Train, all.Train) {
		t.Errorf("other rows in memory, error %v", err)
	}
	if same, err := all.InMemory(); err != nil || same != all {
		t.Errorf("rows that are in memory became other ones, error %v", err)
	}
	at, chunks := 0, 0
	for chunk, err := range streamed.TrainChunks() {
		if err != nil {
			t.Fatal(err)
		}
		if want := all.Train.Labels[at : at+chunk.Samples]; !slices.Equal(chunk.Labels, want) {
			t.Fatalf("other labels from row %d", at)
		}
		at, chunks = at+chunk.Samples, chunks+1
	}
	if at != 40_000 || chunks < 2 {
		t.Errorf("%d rows in %d chunks", at, chunks)
	}
	for _, shuffle := range []bool{false, true} {
		j := job.Default()
		j.Training.GlobalBatch, j.Training.Epochs, j.Training.Shuffle = 3000, 2, shuffle
		want, err := TrainingSource(all, &j)
		if err != nil {
			t.Fatal(err)
		}
		got, err := TrainingSource(streamed, &j)
		if err != nil {
			t.Fatal(err)
		}
		for step := range want.Steps() {
			a, _ := want.Read(step)
			b, _ := got.Read(step)
			if !slices.Equal(a.Labels, b.Labels) || !slices.Equal(a.Slots[1].IDs, b.Slots[1].IDs) {
				t.Fatalf("shuffle %v: step %d differs", shuffle, step)
			}
		}
	}
}
