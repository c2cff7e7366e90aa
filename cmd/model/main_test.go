package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v3"

	"tandem/algo/exec"
	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	network "tandem/algo/numeric/model"
	"tandem/internal/cli/clitest"
	"tandem/internal/modeltest"
	"tandem/internal/moduletest"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

func TestMain(m *testing.M) {
	moduletest.Main()
	testscript.Main(m, map[string]func(){"model": func() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }})
}

// The scripts in testdata run the command as a user would, on the models that write makes.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			for _, mode := range []string{job.Sequential, job.Sync, "async-average"} {
				if err := write(t, filepath.Join(e.WorkDir, mode), mode, 0); err != nil {
					return err
				}
			}
			if err := write(t, filepath.Join(e.WorkDir, "hot"), job.Sync, 0.05); err != nil {
				return err
			}
			// An S3 store, whose buckets are folders of the script.
			store := httptest.NewServer(http.FileServer(http.Dir(e.WorkDir)))
			e.Defer(store.Close)
			e.Setenv("AWS_ENDPOINT_URL", store.URL)
			return errors.Join(writeClicks(t, e.WorkDir), writeTables(t, e.WorkDir))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": clitest.Status, "flip": flip},
	})
}

// write trains a small job in a mode, with hot rows of a least share, and saves the model.
func write(t *testing.T, folder, mode string, share float64) error {
	columns := exectest.NewColumns(160, 16)
	j := exectest.Job(2, 2).InMode(mode)
	j.Rows.Hot.Share = share
	j.Name, j.Data, j.Cluster = "small", job.Data{Kind: job.KindAdultIncome}, job.PersiaCluster()
	text, err := yaml.Marshal(j.Resolved())
	if err != nil {
		return err
	}
	m := &checkpoint.Manifest{Mode: mode, Step: columns.Steps(), Samples: 160, Seed: 1, Commit: "abc",
		Written: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Job: text,
		Scaling: []batch.Scaling{{Mean: 0.5, Std: 2}}}
	_, err = train.Run(t.Context(), j, columns, columns.All,
		train.Options{Trained: func(s exec.State) error { return checkpoint.Save(folder, m, s) }})
	return err
}

// writeClicks writes a table and a model that was trained on it.
func writeClicks(t *testing.T, folder string) error {
	var text strings.Builder
	text.WriteString("user,price,clicked\n")
	for i := range 100 {
		fmt.Fprintf(&text, "u%d,%d,%d\n", i%7, i%5, i%3/2)
	}
	path := filepath.Join(folder, "clicks.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		return err
	}
	j := job.Default()
	j.Name, j.Cluster = "clicks", job.PersiaCluster()
	j.Data = job.Data{Kind: job.KindCSV, Path: path, CSV: &job.Table{Label: "clicked",
		Slots: []job.IDColumn{{Column: "user"}}, Numeric: []string{"price"}}}
	j.Model.EmbeddingDim = 2000 // blocks in the middle of the file have values alone
	model, _ := modeltest.Train(t, j)
	if err := os.Rename(model, filepath.Join(folder, "clicked")); err != nil {
		return err
	}
	j.Model.Kind, j.Model.EmbeddingDim, j.Model.Top = network.LogisticRegression, 1, nil
	model, _ = modeltest.Train(t, j)
	if err := os.Rename(model, filepath.Join(folder, "weights")); err != nil {
		return err
	}
	j.Model.Kind, j.Model.EmbeddingDim, j.Model.Wide = network.DeepFM, 4, []string{"user"}
	model, _ = modeltest.Train(t, j)
	return os.Rename(model, filepath.Join(folder, "wide"))
}

// writeTables copies a table as Parquet and as text, and writes the models that are trained on each.
func writeTables(t *testing.T, folder string) error {
	const from = "../../datasets/parquet/testdata"
	names := map[job.DataKind]string{job.KindParquet: "snappy.parquet", job.KindCSV: "text.csv"}
	for kind, name := range names { // order-free: each in files of its own
		path := filepath.Join(folder, name)
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
		table := &job.Table{Label: "click", Numeric: []string{"price", "age"},
			Slots: []job.IDColumn{{Column: "user"}, {Column: "item"}, {Column: "tags"}}}
		j := job.Default().InMode(job.Sync) // in others no two trainings are the same
		j.Name, j.Cluster = "table", job.PersiaCluster()
		if j.Data = (job.Data{Kind: kind, Path: path, Parquet: table}); kind == job.KindCSV {
			table.Slots[2].Separator = "|"
			j.Data.Parquet, j.Data.CSV = nil, table
		}
		model, _ := modeltest.Train(t, j)
		if err := os.Rename(model, filepath.Join(folder, string(kind)+"-model")); err != nil {
			return err
		}
	}
	return nil
}

// flip flips a bit of a file, at a byte, or in the middle.
func flip(ts *testscript.TestScript, _ bool, args []string) {
	name := ts.MkAbs(args[0])
	data, err := os.ReadFile(name)
	ts.Check(err)
	at := len(data) / 2
	if len(args) > 1 {
		at, err = strconv.Atoi(args[1])
		ts.Check(err)
	}
	data[at] ^= 4
	ts.Check(os.WriteFile(name, data, 0o644))
}
