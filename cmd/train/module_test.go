package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/unit"
	"tandem/internal/moduletest"
	"tandem/runtime/checkpoint"
)

// moduleTable writes a table whose label follows from an id, and a file in the place of a module.
func moduleTable(t *testing.T) (table, module string) {
	moduletest.Use(t)
	folder := t.TempDir()
	table, module = filepath.Join(folder, "clicks.csv"), filepath.Join(folder, "net.py")
	var rows strings.Builder
	rows.WriteString("site,price,clicked\n")
	for i := range 2000 {
		fmt.Fprintf(&rows, "s%d,%d.5,%d\n", i%7, i%11, i%7/4)
	}
	for name, text := range map[string]string{table: rows.String(), module: "# the stub does not read it\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return table, module
}

// A module that is named for a table is what is trained, though a logistic regression predicts better. The
// report has a prediction of its speed, and the job of the results what its network costs.
func TestModuleOfATableIsTrained(t *testing.T) {
	table, module := moduleTable(t)
	var stdout, stderr bytes.Buffer
	out := filepath.Join(t.TempDir(), "out")
	code := run([]string{"--data", table, "--model", module + ":" + moduletest.Constant,
		"--out", out, "--without", "importance"}, &stdout, &stderr)
	if code != 0 {
		t.Fatal(&stderr)
	}
	printed := strings.Join(strings.Fields(stdout.String()), " ")
	for _, words := range []string{"Constant of net.py, in PyTorch " + moduletest.Version,
		"│ torch (chosen) │ without │ 480 │ 1 │ 0.6931 │", "Simulated: the same job on 2 ranks of"} {
		if !strings.Contains(printed, words) {
			t.Errorf("no %q in %s", words, &stdout)
		}
	}
	j, err := job.Load(filepath.Join(out, "job.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	layout, err := model.LayoutOf(j.Model.Spec, &batch.Schema{})
	if err != nil || layout.Cost.ForwardFLOPs != unit.FLOPs(2*layout.Params) { // of a linear network
		t.Errorf("%v: %+v", err, layout)
	}
}

// A module whose optimizer dense PSs cannot use is refused before any mode is trained.
func TestModulesOfNoDensePSAreRefusedFirst(t *testing.T) {
	table, module := moduleTable(t)
	var stderr bytes.Buffer
	code := run([]string{"--data", table, "--model", module + ":" + moduletest.Stepping, "--mode", "sync,gba",
		"--without", "baseline", "--out", filepath.Join(t.TempDir(), "out")}, io.Discard, &stderr)
	const want = "mode gba: the network has an optimizer of its own, which"
	if code != 1 || !strings.Contains(stderr.String(), want) || strings.Contains(stderr.String(), "trained") {
		t.Errorf("code %d, %s; want %s", code, &stderr, want)
	}
}

// Where all modes are compared, those that cannot train a module are left out, with a line each.
func TestModesThatCannotTrainAModuleAreLeftOut(t *testing.T) {
	_, module := moduleTable(t)
	out, err := filepath.Abs(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	code := run([]string{"--model", module + ":" + moduletest.Stepping, "--epochs", "1", "--global-batch",
		"4096", "--without", "baseline,importance,prediction", "--out", out}, &stdout, &stderr)
	if code != 0 {
		t.Fatal(&stderr)
	}
	for _, mode := range job.Modes() {
		left := strings.Contains(stderr.String(), "train: "+mode+" is left out: the file has an optimizer")
		_, err := os.Stat(filepath.Join(out, mode, "model"))
		dense := mode == job.AsyncPS || mode == job.SSP || mode == "gba"
		if left != dense || (err == nil) == dense {
			t.Errorf("%s: left out %v, want %v; model: %v", mode, left, dense, err)
		}
	}
}

// --init-from names a file for a module alone, which reads it.
func TestModuleBeginsWithAStateDict(t *testing.T) {
	table, module := moduleTable(t)
	state := filepath.Join(t.TempDir(), "net.pt")
	if err := os.WriteFile(state, []byte("[1]"), 0o600); err != nil { // too short
		t.Fatal(err)
	}
	arrived := t.TempDir()
	rows, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(arrived, "0.csv"), rows, 0o600); err != nil {
		t.Fatal(err)
	}
	const none = "net.pt is not a state_dict"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--data", table, "--model", module + ":Net", "--without", "baseline"}, none},
		{[]string{"--follow", arrived, "--label", "clicked", "--model", module + ":Net"}, none},
		{[]string{"--data", table}, "net.pt is a file, and only a module of PyTorch begins with a " +
			"state_dict\ntrain: hint: name a folder such as RESULTS/sync/model"},
	} {
		var stderr bytes.Buffer
		code := run(append(c.args, "--init-from", state, "--out", filepath.Join(t.TempDir(), "out")),
			io.Discard, &stderr)
		if code != 1 || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%s: code %d, %s; want %s", c.args, code, &stderr, c.want)
		}
	}
}

// Every model and checkpoint has the module as ONNX. Where PyTorch cannot write it, there is a line, and the
// training goes on.
func TestModelsHaveTheirModuleAsONNX(t *testing.T) {
	table, module := moduleTable(t)
	out := filepath.Join(t.TempDir(), "out")
	var stderr bytes.Buffer
	code := run([]string{"--data", table, "--model", module + ":" + moduletest.Drawn, "--mode", "sync",
		"--without", "baseline,importance,prediction", "--epochs", "1", "--checkpoint-every", "3 steps",
		"--out", out}, io.Discard, &stderr)
	if code != 0 {
		t.Fatal(&stderr)
	}
	files, err := filepath.Glob(filepath.Join(out, "sync", "checkpoints", "*", checkpoint.GraphFile))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v: no checkpoint has %s", err, checkpoint.GraphFile)
	}
	for _, file := range append(files, filepath.Join(out, "sync", "model", checkpoint.GraphFile)) {
		graph, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(graph, []byte("Gemm")) {
			t.Errorf("%v: %s has %q", err, file, graph)
		}
	}

	const text = `data:
  kind: csv
  path: %s
  csv: {slots: [{column: site}], numeric: [price], label: clicked}
model: {kind: torch, file: %s, class: %s, embedding-dim: 4, arguments: {kind: raises, at: graph}}
training: {mode: sync, global-batch: 500}
`
	file := filepath.Join(t.TempDir(), "job.yaml")
	out = filepath.Join(t.TempDir(), "out")
	err = os.WriteFile(file, fmt.Appendf(nil, text, table, module, moduletest.Drawn), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	stderr.Reset()
	code = run([]string{"--file", file, "--without", "baseline,importance,prediction", "--out", out},
		io.Discard, &stderr)
	const line = "train: the models are served with --run-module alone, as PyTorch cannot write the " +
		"module as ONNX: net.py:7: forward: ValueError: no such user\n"
	_, absent := os.Stat(filepath.Join(out, "sync", "model", checkpoint.GraphFile))
	if code != 0 || !strings.Contains(stderr.String(), line) || !os.IsNotExist(absent) {
		t.Errorf("code %d, %v, %s; want %s", code, absent, &stderr, line)
	}
}
