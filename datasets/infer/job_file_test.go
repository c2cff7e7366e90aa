package infer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
)

// A commented job file is the whole job, for either model, and every key stands below a comment.
func TestJobFileIsTheJob(t *testing.T) {
	set, _ := generated(t, 2000, 0)
	deep := Job(set)
	simple, _, err := Baseline(t.Context(), deep, set, Share(set), backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	logistic := deep
	logistic.Model, logistic.Rows = simple.Model, simple.Rows
	table := &job.Table{Delimiter: ";", Slots: []job.IDColumn{{Column: "tags", Separator: "|"}}, Label: "y",
		Numeric: []string{"price", "paid", "age"}, Missing: []string{"", "NA", "NaN", "null"},
		DecimalComma: []string{"price"}, Thousands: []string{"paid"}, Positive: []string{"yes"},
		Negative: []string{"no"}}
	deep.Model.Wide = []string{"tags"}
	deep.Data = job.Data{Kind: job.KindCSV, Path: "/data/table.csv", CSV: table,
		OnBadRow: job.OnBadRow{Skip: 3}, Split: job.Split{How: job.SplitTime, Column: "at", Test: 0.1}}
	logistic.Data = job.Data{Kind: job.KindParquet, Path: "/data/table.parquet", Parquet: &job.Table{
		Label: "y", Slots: []job.IDColumn{{Column: "tags"}}, Numeric: []string{"price"},
		Missing: []string{"", "NaN"}}}
	for _, j := range []job.Job{deep, logistic} {
		j.Name, j.Cluster = "table", job.PersiaCluster()
		text, err := JobFile(j, "A comment.")
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "job.yaml")
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		read, err := job.Load(file)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		got, want := yamlOf(t, read.Resolved()), yamlOf(t, j.Resolved())
		if got != want {
			t.Errorf("%s is read as\n%s\nwant\n%s", j.Model.Kind, got, want)
		}
		lines := strings.Split(string(text), "\n")
		for i, line := range lines {
			if key := strings.TrimSpace(line); strings.HasPrefix(key, "#") || strings.HasPrefix(key, "-") ||
				!strings.Contains(key, ":") || strings.HasPrefix(key, "separator") ||
				strings.HasPrefix(key, "weight") || strings.HasPrefix(key, "bias") {
				continue // of a list, which has a comment
			}
			if !strings.HasPrefix(strings.TrimSpace(lines[i-1]), "#") {
				t.Errorf("no comment above %q", line)
			}
		}
	}
}

func yamlOf(t *testing.T, j job.Job) string {
	t.Helper()
	text, err := yaml.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
