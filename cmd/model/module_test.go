package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/internal/modeltest"
	"tandem/internal/moduletest"
	"tandem/runtime/checkpoint"
	"tandem/runtime/torch"
)

// An export of a module has its text, and its parameters as its Python writes them. What its Python cannot
// write as ONNX is a line.
func TestModulesAreExported(t *testing.T) {
	moduletest.Use(t)
	dir := t.TempDir()
	table := filepath.Join(dir, "clicks.csv")
	text := "user,price,clicked\n" + strings.Repeat("u1,1,0\nu2,3,1\n", 20)
	if err := os.WriteFile(table, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	j := job.Default()
	j.Name, j.Cluster = "clicks", job.PersiaCluster()
	j.Data = job.Data{Kind: job.KindCSV, Path: table, CSV: &job.Table{Label: "clicked",
		Slots: []job.IDColumn{{Column: "user"}}, Numeric: []string{"price"}}}
	j.Model.Spec = moduletest.Spec(4, moduletest.Fault{})
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
