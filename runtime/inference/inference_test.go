package inference_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/datasets"
	"tandem/internal/modeltest"
	"tandem/runtime/inference"
)

// clicks is a table with a list of ids, missing numbers and two labels, and the columns that it is read by.
func clicks(rows int) (text string, table *job.Table) {
	var b strings.Builder
	b.WriteString("user,tags,price,clicked,bought\n")
	for i := range rows {
		price := fmt.Sprint(float64(i%7) / 2)
		if i%9 == 0 {
			price = "NA"
		}
		fmt.Fprintf(&b, "u%d,t%d|t%d,%s,%d,%d\n", i%23, i%5, i%3, price, i%3/2, i%5/4)
	}
	return b.String(), &job.Table{Label: "clicked", FurtherLabels: []string{"bought"},
		Slots:   []job.IDColumn{{Column: "user"}, {Column: "tags", Separator: "|"}},
		Numeric: []string{"price"}, Missing: []string{"NA"}}
}

// predict returns the predictions of the rows of a file.
func predict(m *inference.Model, path string) (all []float32, err error) {
	err = datasets.ReadFeatures(m.Data(), m.Scaling(), path, func(b *batch.Batch, _ float64) error {
		p, err := m.Predict(b)
		all = append(all, p...)
		return err
	})
	return all, err
}

// What the model predicts for the rows of a file are the predictions of the training for its test rows, with
// the file's labels and without them, and with its columns in another order. Two models have
// columns that differ in dimension and means of labels by id, and some rows of the last two are hot.
func TestPredictionsAreThoseOfTheEvaluation(t *testing.T) {
	text, table := clicks(4000)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	folder := t.TempDir()
	write := func(name string, lines []string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var unlabelled []string
	for _, line := range append([]string{lines[0]}, lines[3001:]...) {
		f := strings.Split(line, ",")
		unlabelled = append(unlabelled, strings.Join([]string{f[2], "x", f[1], f[0]}, ","))
	}
	unlabelled[0] = strings.Replace(unlabelled[0], ",x,", ",more,", 1)
	files := []string{write("labelled.csv", append([]string{lines[0]}, lines[3001:]...)),
		write("unlabelled.csv", unlabelled)}
	j := job.Default()
	j.Data = job.Data{Kind: job.KindCSV, Path: write("clicks.csv", lines), CSV: table, Cache: job.CacheOff,
		Split: job.Split{Test: 0.25}}
	j.Name, j.Cluster = "clicks", job.PersiaCluster()
	j.Model.EmbeddingDim, j.Model.Top, j.Training.GlobalBatch = 4, []int{8}, 64
	j.Model.BatchNorm, j.Model.Heads = true, make([]model.Head, 2)
	for i, mode := range []string{job.Sequential, job.Hybrid, "async-ps", job.Hybrid, job.Sync} {
		one := j.InMode(mode)
		switch i {
		case 1, 2:
			one.Data.Slots = []job.SlotSetting{{Slot: "tags", Dim: 7}}
			one.Data.Means = []string{"user", "tags"}
		case 3, 4:
			one.Rows.Hot.Share = 0.1
		}
		saved, result := modeltest.Train(t, one)
		if _, err := os.Stat(filepath.Join(saved, "rows-hot.arrow")); (err == nil) != (i >= 3) {
			t.Errorf("model %d, %s: the file of hot rows: %v", i, mode, err)
		}
		m, err := inference.Open(saved)
		if err != nil {
			t.Fatal(err)
		}
		var want []float32
		for i := range result.Probabilities {
			want = append(want, result.Heads[0].Probabilities[i], result.Heads[1].Probabilities[i])
		}
		for _, file := range files {
			got, err := predict(m, file)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 2000 || !slices.Equal(got, want) {
				t.Errorf("%s, %s: %d predictions differ from the %d of the training", mode,
					filepath.Base(file), len(got), len(want))
			}
		}
		for _, c := range []struct{ text, want string }{
			{"user,price\nu1,2\n", `no column "tags"`},
			{"user,tags,price\nu1,t1,cheap\n", "column price"},
			{"user,tags,price\n", "no rows"},
		} {
			_, err := predict(m, write("bad.csv", []string{strings.TrimSpace(c.text)}))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: error %v, want %q", c.text, err, c.want)
			}
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}
