package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/internal/modeltest"
	"tandem/internal/moduletest"
	"tandem/internal/pythontest"
	"tandem/runtime/checkpoint"
	"tandem/runtime/inference"
	"tandem/runtime/torch"
)

// moduleJob writes a table and returns a job that trains a stub of a module on it.
func moduleJob(t *testing.T, table string) job.Job {
	t.Helper()
	moduletest.Use(t)
	text := "user,price,clicked\n" + strings.Repeat("u1,1,0\nu2,3,1\nu3,2,1\n", 20)
	if err := os.WriteFile(table, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	j := job.Default()
	j.Name, j.Cluster = "clicks", job.PersiaCluster()
	j.Data = job.Data{Kind: job.KindCSV, Path: table, CSV: &job.Table{Label: "clicked",
		Slots: []job.IDColumn{{Column: "user"}}, Numeric: []string{"price"}}}
	j.Model.Spec = moduletest.Spec(4, moduletest.Fault{})
	return j
}

// An export of a module has its text, and its parameters as its Python writes them. What its Python cannot
// write as ONNX is a line.
func TestModulesAreExported(t *testing.T) {
	dir := t.TempDir()
	j := moduleJob(t, filepath.Join(dir, "clicks.csv"))
	modules := torch.FromEnvironment(os.Stderr)
	defer modules.Close()
	from, _ := modeltest.TrainOn(t, backend.Backend{Torch: modules.Engine}, j)

	var stdout, stderr bytes.Buffer
	folder := filepath.Join(dir, "exported")
	if run([]string{"export", from, "--out", folder}, &stdout, &stderr) != 0 {
		t.Fatal(&stderr)
	}
	want := []string{"network.py", "state_dict.pt", "rows.parquet", "columns.json", "predict.py"}
	for i := range want {
		want[i] = filepath.Join(folder, want[i])
	}
	if got := strings.Fields(stdout.String()); !slices.Equal(got, want) {
		t.Errorf("wrote %s, want %s", got, want)
	}
	const none = "model: without network.onnx: PyTorch cannot write the module as ONNX: the stub has no " +
		"ONNX\n"
	if stderr.String() != none {
		t.Errorf("said %q, want %q", &stderr, none)
	}
	source, err := os.ReadFile(want[0])
	if err != nil || string(source) != j.Model.Source {
		t.Errorf("%v: text %q", err, source)
	}
	m, err := checkpoint.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	values, err := m.Dense()
	if err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(want[1])
	if err != nil {
		t.Fatal(err)
	}
	var state []float32
	if err := json.Unmarshal(written, &state); err != nil || !slices.Equal(state, values.Params) {
		t.Errorf("%v: parameters %v, want %v", err, state, values.Params)
	}
}

// With an onnxruntime, a module is predicted by its ONNX: with the predictions of its training to 1e-5, and
// without Python. Without that library an error says what to do, and the text is not run either.
func TestModulesArePredictedWithoutTheirText(t *testing.T) {
	table := filepath.Join(t.TempDir(), "clicks.csv")
	j := moduleJob(t, table)
	j.Model.Class = moduletest.Drawn
	modules := torch.FromEnvironment(os.Stderr)
	folder, trained := modeltest.TrainDrawn(t, backend.Backend{Torch: modules.Engine}, j, modules.Graph)
	modules.Close()

	t.Setenv("TANDEM_PYTHON", "/absent/python")
	named := os.Getenv(inference.ONNXRuntime)
	t.Setenv(inference.ONNXRuntime, "/absent/libonnxruntime.so")
	var stdout, stderr bytes.Buffer
	const want = "): set TANDEM_ONNXRUNTIME to a libonnxruntime.so; or if you trust the model, unset"
	if code := run([]string{"predict", folder, table}, &stdout, &stderr); code != 1 ||
		!strings.Contains(stderr.String(), "(/absent/libonnxruntime.so: ") ||
		!strings.Contains(stderr.String(), want) || stdout.Len() > 0 {
		t.Errorf("code %d, %s; want %s", code, &stderr, want)
	}

	t.Setenv(inference.ONNXRuntime, named)
	t.Setenv(inference.ONNXRuntime, pythontest.ONNXRuntime(t))
	stdout.Reset()
	stderr.Reset()
	if run([]string{"predict", folder, table}, &stdout, &stderr) != 0 {
		t.Fatal(&stderr)
	}
	lines := strings.Fields(stdout.String())[1:]
	last := lines[len(lines)-len(trained.Probabilities):] // which training tested with
	for i, p := range trained.Probabilities {
		got, err := strconv.ParseFloat(last[i], 64)
		if err != nil || math.Abs(got-float64(p)) > 1e-5 {
			t.Errorf("row %d: %s (%v), in training %v", i, last[i], err, p)
		}
	}
}
