package export_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/internal/pythontest"
	"tandem/runtime/export"
)

// weightedTags returns data whose tags have weights: behind the ids of a CSV file, in a column of it, or in
// one of a Parquet file. Some rows have no tag.
func weightedTags(t *testing.T, form string) job.Data {
	type row struct {
		User  string    `parquet:"user"`
		Tags  []string  `parquet:"tags,list"`
		Likes []float32 `parquet:"likes,list"`
		Click int32     `parquet:"click"`
	}
	var rows []row
	text := map[string]string{"inline": "user,tags,click\n", "column": "user,tags,likes,click\n"}[form]
	for i := range 2000 {
		r, pairs, weights := row{User: fmt.Sprint("u", i%7), Click: int32(i % 3 / 2)}, []string{}, []string{}
		for k := range i % 4 {
			weight := float32((i+k)%3+1-k%2) / 3 // some are 0, and not all of a row
			r.Tags, r.Likes = append(r.Tags, fmt.Sprint("t:", (i+k)%5)), append(r.Likes, weight)
			pairs = append(pairs, fmt.Sprintf("%s : %v", r.Tags[k], weight))
			weights = append(weights, fmt.Sprint(weight))
		}
		switch form {
		case "inline":
			text += fmt.Sprintf("%s,%s,%d\n", r.User, strings.Join(pairs, "|"), r.Click)
		case "column":
			text += fmt.Sprintf("%s,%s,%s,%d\n", r.User, strings.Join(r.Tags, "|"),
				strings.Join(weights, "|"), r.Click)
		}
		rows = append(rows, r)
	}
	path, tags := filepath.Join(t.TempDir(), "rows"), job.IDColumn{Column: "tags"}
	table := &job.Table{Label: "click", Slots: []job.IDColumn{{Column: "user"}, tags}}
	switch own := &table.Slots[1]; form {
	case "inline":
		own.Separator, own.WeightSeparator = "|", ":"
	case "column":
		own.Separator, own.Weights = "|", "likes"
	default:
		own.Weights = "likes"
		if err := parquet.WriteFile(path, rows); err != nil {
			t.Fatal(err)
		}
		return job.Data{Kind: job.KindParquet, Path: path, Parquet: table}
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return job.Data{Kind: job.KindCSV, Path: path, CSV: table}
}

// The Python program reads weights of ids as the model does, and pools with them; weights that cannot be used
// are one line of an error.
func TestPythonPredictsWithWeights(t *testing.T) {
	python := pythontest.With(t, "numpy, pyarrow, onnxruntime")
	stack := batch.HashStack{Rounds: 2, Rows: 20}
	for form, own := range map[string]job.SlotSetting{"inline": {Pooling: job.PoolMean},
		"column": {Pooling: job.PoolSqrt, HashStack: stack}, "parquet": {}} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			data := weightedTags(t, form)
			from := trained(t, data, func(j *job.Job) {
				own.Slot = "tags"
				j.Data.Slots = []job.SlotSetting{own}
				j.Model.Top, j.Model.BatchNorm = []int{8}, false
			})
			program := filepath.Join(exported(t, from, export.Parquet), export.ProgramFile)
			got := strings.Fields(string(python.Run(t, nil, program, data.Path)))
			compare(t, got[1:], predictions(t, from, data.Path), 1)
			for _, bad := range map[string][][2]string{
				"inline": {
					{"user,tags\nu1,a:-1|b:2\n", "weights of at least 0, and they are ['-1', '2']"},
					{"user,tags\nu1,a:1e-40\n", "cannot be divided by the sum of their weights: ['1e-40']"},
				},
				"column": {
					{"user,likes,tags\nu1,1,a|b\n", "column tags: the weights of 2 ids are ['1']"},
					{"user,likes,tags\nu1,1e-39,a\n",
						"cannot be divided by the sum of their weights: ['1e-39']"},
				},
			}[form] {
				path := filepath.Join(t.TempDir(), "bad.csv")
				if err := os.WriteFile(path, []byte(bad[0]), 0o644); err != nil {
					t.Fatal(err)
				}
				complain(t, python, program, path, bad[1])
			}
		})
	}
}
