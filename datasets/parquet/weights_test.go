package parquet_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	library "github.com/parquet-go/parquet-go"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
)

// weightedRow is a row of a table whose tags have weights: of three ids the second is 0, and two rows have
// none, or one.
type weightedRow struct {
	User  string    `parquet:"user"`
	Tags  []string  `parquet:"tags,list"`
	Likes []float32 `parquet:"likes,list"`
	Click int32     `parquet:"click"`
}

var weightedRows = []weightedRow{
	{"ann", []string{"rock", "pop", "jazz:2"}, []float32{0.5, 0, 3}, 1},
	{"ben", nil, nil, 0},
	{"ann", []string{"pop"}, []float32{1}, 0},
	{"eve", []string{"rock", "rock"}, []float32{0.1, 1e-3}, 1},
}

// weightedFiles writes the table in every form that has weights, and returns how each is read.
func weightedFiles(t *testing.T) map[string]job.Data {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	table := filepath.Join(folder, "t.parquet")
	if err := library.WriteFile(table, weightedRows); err != nil {
		t.Fatal(err)
	}
	const columns = "user,tags,likes,click\nann,rock|pop|jazz:2,0.5| 0|3,1\nben,,,0\nann,pop,1,0\n" +
		"eve,rock|rock,0.1|1e-3,1\n"
	const behind = "user,tags,click\nann,rock:0.5|pop:0|jazz:2:3,1\nben,,0\nann,pop,0\n" +
		"eve,rock: 0.1|rock :1e-3,1\n"
	const objects = `{"user":"ann","tags":["rock","pop","jazz:2"],"likes":[0.5,0,3],"click":1}
{"user":"ben","tags":[],"likes":[],"click":0}
{"user":"ann","tags":["pop"],"likes":[1.0],"click":0}
{"user":"eve","tags":["rock","rock"],"likes":[0.1,0.001],"click":1}
`
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte(columns))
	z.Close()
	tags := func(c job.IDColumn) *job.Table {
		c.Column = "tags"
		return &job.Table{Slots: []job.IDColumn{{Column: "user"}, c}, Label: "click"}
	}
	separate := tags(job.IDColumn{Separator: "|", Weights: "likes"})
	lists := tags(job.IDColumn{Weights: "likes"})
	inline := tags(job.IDColumn{Separator: "|", WeightSeparator: ":"})
	return map[string]job.Data{
		table:                              {Kind: job.KindParquet, Parquet: lists},
		write("columns.csv", columns):      {Kind: job.KindCSV, CSV: separate},
		write("t.csv.gz", zipped.String()): {Kind: job.KindCSV, CSV: separate},
		write("t.jsonl", objects):          {Kind: job.KindCSV, CSV: separate},
		write("inline.csv", behind):        {Kind: job.KindCSV, CSV: inline},
	}
}

// wantWeighted returns the tags of the table, from its definition.
func wantWeighted() (want batch.Jagged) {
	want.Offsets = []int32{0}
	for _, row := range weightedRows {
		for i, tag := range row.Tags {
			want.IDs = append(want.IDs, datasets.CategoryID(tag))
			want.Weights = append(want.Weights, row.Likes[i])
		}
		want.Offsets = append(want.Offsets, int32(len(want.IDs)))
	}
	return want
}

// Whole numbers that are written with a point are ids without it, in front of a weight, too.
func TestWholeIDsWithWeights(t *testing.T) {
	path := filepath.Join(t.TempDir(), "whole.csv")
	if err := os.WriteFile(path, []byte("tags,click\n17.0:0.5|18:2.0,1\n17:1,0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	data := job.Data{Kind: job.KindCSV, CSV: &job.Table{Label: "click", Slots: []job.IDColumn{
		{Column: "tags", Separator: "|", WeightSeparator: ":", Whole: true}}}}
	rows, err := datasets.ReadRows(data, path)
	if err != nil {
		t.Fatal(err)
	}
	a, b := datasets.CategoryID("17"), datasets.CategoryID("18")
	got := rows.Batch.Slots[0]
	if !slices.Equal(got.IDs, []uint64{a, b, a}) || !slices.Equal(got.Weights, []float32{0.5, 2, 1}) {
		t.Errorf("ids %v with weights %v", got.IDs, got.Weights)
	}
}

// Ids and weights are the same in every form, whether rows are in memory, come from cached columns, stay in
// their file, or have no labels.
func TestWeightsOfIDsAreThoseOfTheTable(t *testing.T) {
	want := wantWeighted()
	check := func(path, how string, got batch.Jagged, err error) {
		t.Helper()
		if err != nil || !slices.Equal(got.IDs, want.IDs) || !slices.Equal(got.Offsets, want.Offsets) ||
			!slices.Equal(got.Weights, want.Weights) {
			t.Errorf("%s, %s: %+v, want %+v, error %v", filepath.Base(path), how, got, want, err)
		}
	}
	for path, data := range weightedFiles(t) {
		data.Cache = filepath.Join(t.TempDir(), "cache")
		for _, how := range []string{"memory", "cache"} {
			rows, err := datasets.ReadRows(data, path)
			if err != nil {
				t.Fatal(err)
			}
			check(path, how, rows.Batch.Slots[1], nil)
			if rows.Batch.Slots[0].Weights != nil || rows.Schema.Slots[0].Weighted ||
				!rows.Schema.Slots[1].Weighted {
				t.Errorf("%s: weights of %+v", path, rows.Schema.Slots)
			}
		}
		var own batch.Jagged
		err := datasets.ReadFeatures(data, nil, path, func(rows *batch.Batch, _ float64) error {
			own = rows.Slots[1]
			return nil
		})
		check(path, "features", own, err)

		data.Cache, data.Path, data.Stream = "", path, true
		data.Split = job.Split{How: job.SplitLast, Test: 0.25}
		set, err := datasets.Open(data, "")
		if err != nil {
			t.Fatal(err)
		}
		train, err := set.Rows.Between(0, 3)
		if err != nil {
			t.Fatal(err)
		}
		both := train.Slots[1]
		both.IDs = append(both.IDs, set.Test.Slots[1].IDs...)
		both.Weights = append(both.Weights, set.Test.Slots[1].Weights...)
		both.Offsets = append(both.Offsets, int32(len(both.IDs)))
		check(path, "stream", both, nil)

		data.Stream, data.Split = false, job.Split{How: job.SplitRandom, Seed: 1, Test: 0.25}
		if set, err = datasets.Open(data, ""); err != nil {
			t.Fatal(err)
		}
		sum := func(rows *batch.Batch) (sum float32) {
			for _, w := range rows.Slots[1].Weights {
				sum += w
			}
			return sum
		}
		if got := sum(set.Train) + sum(set.Test); math.Abs(float64(got-4.601)) > 1e-6 {
			t.Errorf("%s: weights of both parts add up to %v", path, got)
		}
		eachTag(t, data, path)
	}
}

// eachTag checks that the ids of a file are found with their texts.
func eachTag(t *testing.T, data job.Data, path string) {
	t.Helper()
	var texts []string
	err := datasets.EachID(data, path, "tags", func(text string, id uint64) {
		texts = append(texts, text)
		if of, err := datasets.IDOf(data, "tags", text); err != nil || of != id {
			t.Errorf("%s: the id of %q is %d, not %d, error %v", path, text, of, id, err)
		}
	})
	want := []string{"rock", "pop", "jazz:2", "pop", "rock", "rock"}
	if err != nil || !slices.Equal(texts, want) {
		t.Errorf("%s: %q, want %q, error %v", path, texts, want, err)
	}
}

// Requests have the rows of the file.
func TestWeightsOfRequestsAreThoseOfTheTable(t *testing.T) {
	want := wantWeighted()
	users := []string{"ann", "ben", "ann", "eve"}
	for path, data := range weightedFiles(t) {
		in := datasets.Features{IDs: [][]string{users, {"rock|pop|jazz:2", "", "pop", "rock|rock"}},
			Weights: [][]string{nil, {"0.5|0|3", "", "1", "0.1|0.001"}}}
		switch {
		case data.Kind == job.KindParquet: // a value of a request is one id
			in = datasets.Features{IDs: [][]string{{"ann"}, {"pop"}}, Weights: [][]string{nil, {"0.25"}}}
		case data.CSV.Slots[1].WeightSeparator != "":
			in = datasets.Features{IDs: [][]string{users, {"rock:0.5|pop:0|jazz:2:3", "", "pop",
				"rock: 0.1|rock :1e-3"}}}
		}
		b, err := datasets.FeatureRows(data, nil, in)
		if data.Kind == job.KindParquet {
			if err != nil || !slices.Equal(b.Slots[1].Weights, []float32{0.25}) {
				t.Errorf("%s: %+v, error %v", path, b, err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(b.Slots[1].Weights, want.Weights) ||
			!slices.Equal(b.Slots[1].IDs, want.IDs) || !slices.Equal(b.Slots[1].Offsets, want.Offsets) {
			t.Errorf("%s: %+v, want %+v, error %v", path, b, want, err)
		}
	}
}

// Weights that cannot be used make their row a bad row, which is named, or skipped if the job says so.
func TestBadWeightsOfIDs(t *testing.T) {
	text := func(column, between string) job.Data {
		return job.Data{Kind: job.KindCSV, Cache: job.CacheOff, CSV: &job.Table{Label: "click",
			Slots: []job.IDColumn{{Column: "tags", Separator: "|", Weights: column,
				WeightSeparator: between}}}}
	}
	inColumn, inline := text("likes", ""), text("", ":")
	const good = "rock|pop,1|2,1\n"
	for _, c := range []struct {
		data       job.Data
		row, want  string
		pooling    string
		isAccepted bool
	}{
		{inColumn, "rock|pop,1,0", `column likes: "1": 1 weights, and the column tags has 2 ids`, "", false},
		{inColumn, ",1,0", `column likes: "1": 1 weights, and the column tags has 0 ids`, "", false},
		{inColumn, "rock,,0", "0 weights, and the column tags has 1 ids", "", false},
		{inColumn, "rock|pop,1|x,0", `column likes: "x": a weight of an id: not a number`, "", false},
		{inColumn, "rock,NaN,0", `column likes: "NaN": a weight of an id: not a finite`, "", false},
		{inColumn, "rock,1e39,0", "not a finite 32-bit number", "", false},
		{inColumn, "rock|pop,-1|1,0", "", job.PoolSum, true},
		{inColumn, "rock|pop,-1|1,0", "", job.PoolSqrt, true},
		{inColumn, "rock|pop,-1|2,0", `column tags: "[-1 2]": an id has the weight -1`, job.PoolMean, false},
		{inColumn, "rock|pop,0|0,0", `column tags: "[0 0]": the weights of the 2 ids are 0`, job.PoolMean,
			false},
		{inColumn, "rock|pop,0|0,0", "the weights of the 2 ids are 0", job.PoolSqrt, false},
		{inColumn, "rock,1e-45,0", "ids are 0, or so small", job.PoolMean, false},
		{inColumn, "rock|pop,0|0,0", "", "", true},
		{inColumn, "rock|pop,0|1,0", "", job.PoolMean, true},
		{inline, "rock:|pop,1,0", `column tags: "rock:": behind ":" stands the weight`, "", false},
		{inline, "rock:two,1,0", `column tags: "rock:two": behind ":" stands the weight of an id`, "", false},
		{inline, "rock:+Inf,1,0", "not a finite", "", false},
	} {
		path := filepath.Join(t.TempDir(), "t.csv")
		rows := "tags,likes,click\n" + good + c.row + "\n" + good
		if err := os.WriteFile(path, []byte(rows), 0o644); err != nil {
			t.Fatal(err)
		}
		data := c.data
		data.Path, data.Split.Test = path, 0.34
		if data.Slots = nil; c.pooling != "" {
			data.Slots = []job.SlotSetting{{Slot: "tags", Pooling: c.pooling}}
		}
		for _, stream := range []bool{false, true} {
			data.Stream, data.OnBadRow.Skip = stream, 0
			_, err := datasets.Open(data, "")
			if c.isAccepted != (err == nil) || err != nil && (!errors.Is(err, datasets.ErrBadRow) ||
				!strings.Contains(err.Error(), ":3: ") || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%q, %s: %v, want %q", c.row, c.pooling, err, c.want)
			}
			data.OnBadRow.Skip = 1
			set, err := datasets.Open(data, "")
			if err != nil || (set.DroppedRows == 0) != c.isAccepted {
				t.Errorf("%q: skipped, error %v", c.row, err)
			}
		}
	}
}

// Bad rows of Parquet files are named by their number.
func TestBadWeightsOfIDsInParquet(t *testing.T) {
	data := job.Data{Kind: job.KindParquet, Cache: job.CacheOff, Parquet: &job.Table{Label: "click",
		Slots: []job.IDColumn{{Column: "user"}, {Column: "tags", Weights: "likes"}}}}
	data.Split.Test = 0.4
	two := []string{"a", "b"}
	for name, c := range map[string]struct {
		row     weightedRow
		pooling string
		want    string
	}{
		"too few": {weightedRow{Tags: two, Likes: []float32{1}}, "",
			`column likes: "[1]": 1 weights, and the row has 2 ids`},
		"too many": {weightedRow{Tags: two[:1], Likes: []float32{1, 2}}, "",
			"2 weights, and the row has 1 ids"},
		"NaN": {weightedRow{Tags: two, Likes: []float32{1, float32(math.NaN())}}, "",
			`column likes: "NaN": not a finite`},
		"zeros": {weightedRow{Tags: two, Likes: []float32{0, 0}}, job.PoolMean, "ids are 0, or so small"},
		"negative": {weightedRow{Tags: two, Likes: []float32{2, -1}}, job.PoolMean,
			"a mean needs weights of at least 0"},
		"fine": {weightedRow{Tags: two, Likes: []float32{2, -1}}, job.PoolSqrt, ""},
	} {
		path := filepath.Join(t.TempDir(), "t.parquet")
		rows := slices.Insert(slices.Clone(weightedRows), 1, c.row)
		if err := library.WriteFile(path, rows); err != nil {
			t.Fatal(err)
		}
		data.Path = path
		data.Slots = []job.SlotSetting{{Slot: "tags", Pooling: c.pooling}}
		for _, stream := range []bool{false, true} {
			data.Stream, data.OnBadRow.Skip = stream, 0
			_, err := datasets.Open(data, "")
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), ":2: ") ||
				!strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
			data.OnBadRow.Skip = 1
			if _, err := datasets.Open(data, ""); err != nil {
				t.Errorf("%s: skipped: %v", name, err)
			}
		}
	}
	_, err := datasets.ReadRows(job.Data{Kind: job.KindParquet, Cache: job.CacheOff, Parquet: &job.Table{
		Label: "click", Slots: []job.IDColumn{{Column: "tags", Weights: "user"}}}}, data.Path)
	if err == nil || !strings.Contains(err.Error(), `"user" holds STRING: weights of ids must be numbers`) {
		t.Errorf("weights that are text: %v", err)
	}
}

// Cached rows are not those of a job that allows other weights.
func TestCachedWeightsAreThoseOfThePooling(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	rows := strings.Repeat("rock:-1|pop,1\nrock,0\n", 4)
	if err := os.WriteFile(path, []byte("tags,click\n"+rows), 0o644); err != nil {
		t.Fatal(err)
	}
	data := job.Data{Kind: job.KindCSV, Path: path, Cache: filepath.Join(t.TempDir(), "cache"),
		Split: job.Split{Test: 0.5}, CSV: &job.Table{Label: "click",
			Slots: []job.IDColumn{{Column: "tags", Separator: "|", WeightSeparator: ":"}}}}
	for _, pooling := range []string{job.PoolSum, job.PoolMean, job.PoolSum} {
		data.Slots = []job.SlotSetting{{Slot: "tags", Pooling: pooling}}
		_, err := datasets.Open(data, "")
		if (err != nil) != (pooling == job.PoolMean) {
			t.Errorf("%s: %v", pooling, err)
		}
	}
}
