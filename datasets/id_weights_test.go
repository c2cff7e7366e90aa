package datasets

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// The weights of ids stand behind them or in a column of their own, one for each id; an id without one has
// weight 1. A number that is missing or none, and a number of weights that is not that of the ids, are bad
// rows.
func TestWeightsOfIDs(t *testing.T) {
	inline := job.IDColumn{Column: "tags", Separator: "|", WeightSeparator: "::"}
	one := job.IDColumn{Column: "tag", WeightSeparator: ":"}
	whole := job.IDColumn{Column: "n", Separator: ",", WeightSeparator: ":", Whole: true}
	beside := job.IDColumn{Column: "tags", Separator: "|", Weights: "w"}
	single := job.IDColumn{Column: "tag", Weights: "w"}
	for _, c := range []struct {
		column         job.IDColumn
		field, weights string
		ids            []string
		want           []float32
		bad            string // part of the reason
	}{
		{inline, "rock::0.5|pop::2", "", []string{"rock", "pop"}, []float32{0.5, 2}, ""},
		{inline, " rock :: 0.5 | a::b::-3 |jazz", "", []string{"rock", "a::b", "jazz"}, []float32{0.5, -3,
			1}, ""},
		{inline, "::7", "", []string{""}, []float32{7}, ""},
		{inline, "", "", nil, nil, ""},
		{one, "rock:4", "", []string{"rock"}, []float32{4}, ""},
		{one, "rock|pop:4", "", []string{"rock|pop"}, []float32{4}, ""},
		{whole, "17.0:2,18:3,5.5:1", "", []string{"17", "18", "5.5"}, []float32{2, 3, 1}, ""},
		{beside, "rock|pop", "0.5| 2 ", []string{"rock", "pop"}, []float32{0.5, 2}, ""},
		{beside, "", "", nil, nil, ""},
		{single, "rock|pop", "3", []string{"rock|pop"}, []float32{3}, ""},
		{single, "", "3", []string{""}, []float32{3}, ""},
		{inline, "rock::x|pop::2", "", nil, nil, `behind "::" stands the weight of an id`},
		{inline, "rock::1|pop::", "", nil, nil, `behind "::" stands the weight of an id`},
		{beside, "rock|pop", "1|x", nil, nil, "a weight of an id: "},
		{beside, "rock|pop", "1", nil, nil, "1 weights, and the column tags has 2 ids"},
		{beside, "rock", "1|2", nil, nil, "2 weights, and the column tags has 1 ids"},
		{single, "rock", "", nil, nil, "a weight of an id: "},
	} {
		var want []uint64
		for _, id := range c.ids {
			want = append(want, CategoryID(id))
		}
		ids, weights, bad := appendWeighted(nil, nil, c.field, c.weights, c.column)
		switch {
		case c.bad != "":
			if bad == nil || !strings.Contains(bad.Reason, c.bad) {
				t.Errorf("%q with %q: %+v, want %s", c.field, c.weights, bad, c.bad)
			}
		case bad != nil || !slices.Equal(ids, want) || !slices.Equal(weights, c.want):
			t.Errorf("%q with %q: %x with weights %v, %+v; want %q with %v", c.field, c.weights, ids,
				weights, bad,
				c.ids, c.want)
		}
		if c.bad != "" {
			continue
		}
		before := []uint64{9}
		ids, weights, _ = appendWeighted(before, []float32{8}, c.field, c.weights, c.column)
		if !slices.Equal(ids[1:], want) || !slices.Equal(weights[1:], c.want) || ids[0] != 9 ||
			weights[0] != 8 {
			t.Errorf("%q behind others: %x, %v", c.field, ids, weights)
		}
	}
}

// Features from texts are those of the same fields of a file.
func TestFeaturesHaveWeights(t *testing.T) {
	slot := batch.Slot{Name: "tags", Weighted: true, Scale: batch.Mean}
	column := job.IDColumn{Column: "tags", Separator: "|", Weights: "w"}
	got, err := featureIDs(&slot, column, []string{" rock|pop ", "", "jazz"}, []string{"1|2", "", " 3 "})
	if err != nil {
		t.Fatal(err)
	}
	want := []uint64{CategoryID("rock"), CategoryID("pop"), CategoryID("jazz")}
	if !slices.Equal(got.IDs, want) || !slices.Equal(got.Weights, []float32{1, 2, 3}) ||
		!slices.Equal(got.Offsets, []int32{0, 2, 2, 3}) {
		t.Errorf("%+v", got)
	}
	plain := batch.Slot{Name: "tags"}
	got, err = featureIDs(&plain, job.IDColumn{Column: "tags", Separator: "|"}, []string{"rock|pop",
		"jazz"}, nil)
	if err != nil || !slices.Equal(got.IDs, want) || got.Weights != nil ||
		!slices.Equal(got.Offsets, []int32{0, 2, 3}) {
		t.Errorf("%+v, %v", got, err)
	}
	inline := job.IDColumn{Column: "tags", WeightSeparator: ":"}
	if got, err = featureIDs(&slot, inline, []string{"rock:2"}, nil); err != nil ||
		!slices.Equal(got.Weights, []float32{2}) {
		t.Errorf("%+v, %v", got, err)
	}
	for texts, reason := range map[string]string{"rock:x": `row 1: column tags: "rock:x"`,
		"rock:-2": "row 1: column tags: an id has the weight -2"} {
		if _, err := featureIDs(&slot, inline, []string{texts}, nil); err == nil ||
			!strings.Contains(err.Error(), reason) {
			t.Errorf("%s: error %v, want %s", texts, err, reason)
		}
	}
}

// writeFile writes a file into a new folder and returns its path.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, name, text)
	return filepath.Join(dir, name)
}

// Weights of ids of a file reach its rows, and slots have the scale of their settings where ids have weights.
func TestFilesHaveWeights(t *testing.T) {
	data := job.Data{Kind: job.KindCSV, CSV: &job.Table{Slots: []job.IDColumn{
		{Column: "tags", Separator: "|", Weights: "w"}, {Column: "likes", Separator: "|",
			WeightSeparator: ":"},
		{Column: "user"}}}, Slots: []job.SlotSetting{{Slot: "user", Pooling: job.PoolMean},
		{Slot: "likes", Pooling: job.PoolMean}}}
	path := writeFile(t, "rows.csv", "w,tags,likes,user\n0.5|2,a|b,c:3,u\n7,d,e|f:0.25,v\n")
	rows := 0
	err := ReadFeatures(data, nil, path, func(b *batch.Batch, _ float64) error {
		rows += b.Samples
		tags, likes := b.Slots[0], b.Slots[1]
		if !slices.Equal(tags.Weights, []float32{0.5, 2, 7}) || !slices.Equal(tags.Offsets, []int32{0, 2,
			3}) ||
			!slices.Equal(likes.Weights, []float32{3, 1, 0.25}) || b.Slots[2].Weights != nil ||
			likes.IDs[2] != CategoryID("f") {
			t.Errorf("%+v", b.Slots)
		}
		return nil
	})
	if err != nil || rows != 2 {
		t.Errorf("%d rows, %v", rows, err)
	}
	bad := writeFile(t, "bad.csv", "w,tags,likes,user\n1,a,c:-3,u\n")
	if err := ReadFeatures(data, nil, bad, func(*batch.Batch, float64) error { return nil }); err == nil ||
		!strings.Contains(err.Error(), "a mean needs weights of at least 0") {
		t.Errorf("a negative weight of a mean: error %v", err)
	}
	data.CSV.Slots[0].Weights = "none"
	if err := ReadFeatures(data, nil, path, func(*batch.Batch, float64) error { return nil }); err == nil ||
		!strings.Contains(err.Error(), "none") {
		t.Errorf("weights of no column: error %v", err)
	}
}

// Times are fields by which rows can be split that are no numbers.
func TestTimesAreNoNumbers(t *testing.T) {
	for field, want := range map[string]bool{"2026-01-31": true, " 31.01.2026 12:30 ": true, "5": false,
		"-5": false, "1e9": false, "": false, "yesterday": false, "1969-12-31": false, "1970-01-01": true,
		"2261-12-31": true, "2262-01-01": false} {
		if got := IsTime(field); got != want {
			t.Errorf("%q is a time: %v", field, got)
		}
	}
}

// The mean and the deviation of a label of generated rows are those of the rows.
func TestMeanLabelOfGeneratedRows(t *testing.T) {
	d, err := Open(job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{Seed: 1, TrainRows: 40_000,
		TestRows: 10, Numeric: 1, Stream: true,
		Columns: []job.SyntheticColumn{{Name: "user", Cardinality: 50}}}}, "")
	if err != nil {
		t.Fatal(err)
	}
	all, err := d.InMemory()
	if err != nil || d.Rows == nil || all.Rows != nil || all.Train.Samples != d.Rows.Samples() {
		t.Fatalf("%d rows in memory, %v", all.Train.Samples, err)
	}
	sum, squares := 0.0, 0.0
	for _, label := range all.Train.Labels {
		sum, squares = sum+float64(label), squares+float64(label)*float64(label)
	}
	n := float64(len(all.Train.Labels))
	deviation := math.Sqrt(squares/n - sum/n*sum/n)
	for name, of := range map[string]*Dataset{"generated": d, "in memory": all} {
		if got := of.LabelMean(0); math.Abs(got-sum/n) > 1e-9 || sum == 0 || sum == n {
			t.Errorf("%s: a mean of %v, want %v", name, got, sum/n)
		}
		if got := of.LabelDeviation(0); math.Abs(got-deviation) > 1e-6 {
			t.Errorf("%s: a deviation of %v, want %v", name, got, deviation)
		}
	}
	for chunk, err := range all.TrainChunks() {
		if chunk != all.Train || err != nil {
			t.Errorf("a chunk of %d rows in memory, %v", chunk.Samples, err)
		}
	}
}
