package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v3"

	"tandem/algo/exec"
	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/internal/cli/clitest"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"model": func() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }})
}

// The scripts in testdata run the command as a user would, on the models that write makes.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			for _, mode := range []string{job.Sequential, job.Sync, "async-average"} {
				if err := write(t, filepath.Join(e.WorkDir, mode), mode); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": clitest.Status, "flip": flip},
	})
}

// write trains a small job in a mode, and saves the model.
func write(t *testing.T, folder, mode string) error {
	columns := exectest.NewColumns(160, 16)
	j := exectest.Job(2, 2).InMode(mode)
	j.Name, j.Data, j.Cluster = "small", job.Data{Kind: job.KindAdultIncome}, job.PersiaCluster()
	text, err := yaml.Marshal(j.Resolved())
	if err != nil {
		return err
	}
	m := &checkpoint.Manifest{Mode: mode, Step: columns.Steps(), Samples: 160, Seed: 1, Commit: "abc",
		Written: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Job: text,
		Scaling: []checkpoint.Scaling{{Mean: 0.5, Std: 2}}}
	_, err = train.Run(t.Context(), j, columns, columns.All,
		train.Options{Trained: func(s exec.State) error { return checkpoint.Save(folder, m, s) }})
	return err
}

// flip flips a bit in the middle of a file.
func flip(ts *testscript.TestScript, _ bool, args []string) {
	name := ts.MkAbs(args[0])
	data, err := os.ReadFile(name)
	ts.Check(err)
	data[len(data)/2] ^= 4
	ts.Check(os.WriteFile(name, data, 0o644))
}
