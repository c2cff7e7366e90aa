package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/algo/exec/backend"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/datasets"
	"tandem/internal/modeltest"
	"tandem/internal/moduletest"
	"tandem/internal/pythontest"
	"tandem/runtime/checkpoint"
	"tandem/runtime/inference"
	"tandem/runtime/torch"
)

// A model with a module is served only if the user says that its text may run. It then answers with the
// predictions of its training, also after its Python has died.
func TestModulesAreServedIfAsked(t *testing.T) {
	moduletest.Use(t)
	j := clicksJob(t, 300, func(row int) (user, tag int) { return row % 17, row % 5 })
	once := t.TempDir() + "/died"
	j.Model.Spec = moduletest.Spec(j.Model.Dim(), moduletest.Fault{Kind: moduletest.Dies,
		At: moduletest.Predict, After: 1, Once: once})
	modules := torch.FromEnvironment(os.Stderr)
	t.Cleanup(modules.Close)
	folder, result := modeltest.TrainOn(t, backend.Backend{Torch: modules.Engine}, j)

	var stderr bytes.Buffer
	code := run(t.Context(), []string{folder, "--http", "127.0.0.1:0"}, io.Discard, &stderr)
	want := "no module.onnx: train it with a Python that has the packages onnx and onnxscript; or add " +
		"--run-module, which runs its text, if you trust the model\n"
	if code != 1 || !strings.Contains(stderr.String(), want) {
		t.Errorf("code %d, %s; want %s", code, &stderr, want)
	}

	address, stop := start(t, folder, "--run-module", "--batch-rows", "1")
	for i := range 3 {
		got := predicted(t, address, j.Data.Path, len(result.Probabilities), i, i+1)
		if !slices.Equal(got, result.Probabilities[i:i+1]) {
			t.Errorf("row %d: %v, want %v", i, got, result.Probabilities[i])
		}
	}
	if _, err := os.Stat(once); err != nil {
		t.Error(err)
	}
	stop()
}

// predicted returns the predictions that a server has for some of the last rows of a table.
func predicted(t *testing.T, address, table string, last, from, to int) []float32 {
	t.Helper()
	users, tags, prices := columns(t, table)
	first := len(users) - last
	input := func(name, kind string, values any) map[string]any {
		return map[string]any{"name": name, "shape": []int{to - from, 1}, "datatype": kind, "data": values}
	}
	request, err := json.Marshal(map[string]any{"inputs": []any{
		input("user", "BYTES", users[first+from:first+to]), input("tags", "BYTES", tags[first+from:first+to]),
		input("price", "FP32", prices[first+from:first+to])}})
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Post(address+"/v2/models/tandem/infer", "application/json",
		bytes.NewReader(request))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Outputs []struct{ Data []float32 }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || len(answer.Outputs) != 1 {
		t.Fatalf("%v, %+v", err, answer)
	}
	return answer.Outputs[0].Data
}

// refusing is a network that cannot compute samples with a number above 100, and predicts one half of others.
type refusing struct {
	model.Engine
	layout model.Layout
}

func (r *refusing) Layout() *model.Layout { return &r.layout }
func (r *refusing) Err() error            { return nil }
func (r *refusing) NewPass(int) model.Pass {
	return &refusingPass{width: r.layout.DenseWidth}
}

type refusingPass struct {
	model.Pass
	width int
	err   error
}

func (r *refusingPass) Forward(_, _ []float32, in model.Input, _ bool) ([]float32, float64) {
	if slices.Max(in.Dense) > 100 {
		r.err = errors.New("a number is none")
	}
	return make([]float32, in.Samples), 0
}

func (r *refusingPass) Err() error {
	err := r.err
	r.err = nil
	return err
}

// Of requests that are computed together, one with a value that the graph of a module does not take fails
// alone, and those that come later are predicted.
func TestValuesThatAGraphRefusesFailTheirRequestsAlone(t *testing.T) {
	moduletest.Use(t)
	j := clicksJob(t, 300, func(row int) (user, tag int) { return row % 17, row % 5 })
	j.Model.Spec = moduletest.Spec(j.Model.Dim(), moduletest.Fault{})
	modules := torch.FromEnvironment(os.Stderr)
	t.Cleanup(modules.Close)
	folder, _ := modeltest.TrainOn(t, backend.Backend{Torch: modules.Engine}, j)
	graph := func(_ []byte, l model.Layout, _ model.Values) (model.Engine, error) {
		return &refusing{layout: l}, nil
	}
	m, err := inference.OpenOn(backend.Backend{Graph: graph}, folder)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	const rows, bad = 40, 7
	var all *batch.Batch
	first := func(b *batch.Batch, _ float64) error {
		all = batch.Slice(b, 0, rows)
		return nil
	}
	if err := datasets.ReadFeatures(m.Data(), m.Scaling(), j.Data.Path, first); err != nil {
		t.Fatal(err)
	}
	all.Dense[bad] = 1000 // the only number
	for range 2 {
		q := inference.NewQueue(m, inference.QueueLimits{Rows: rows, Waiting: rows})
		var clients sync.WaitGroup
		for i := range rows {
			clients.Go(func() {
				got, err := q.Predict(t.Context(), batch.Slice(all, i, i+1))
				if (err != nil) != (i == bad) || err == nil && !slices.Equal(got, []float32{0.5}) {
					t.Errorf("row %d: %v, error %v", i, got, err)
				}
			})
		}
		clients.Wait()
		q.Close()
	}
}

// A model with the ONNX of its module is served without Python, with the predictions of its training to
// 1e-5, and so is the one that replaces it. Without onnxruntime, or with a damaged graph, a sentence says so.
func TestModulesAreServedByTheirGraph(t *testing.T) {
	library := pythontest.ONNXRuntime(t)
	t.Setenv(inference.ONNXRuntime, library)
	moduletest.Use(t)
	j := clicksJob(t, 300, func(row int) (user, tag int) { return row % 17, row % 5 })
	j.Model.Spec = moduletest.Spec(j.Model.Dim(), moduletest.Fault{})
	j.Model.Class = moduletest.Drawn
	modules := torch.FromEnvironment(os.Stderr)
	t.Cleanup(modules.Close)
	machine := backend.Backend{Torch: modules.Engine}
	before, old := modeltest.TrainDrawn(t, machine, j, modules.Graph)
	j.Training.Epochs = 3
	after, newer := modeltest.TrainDrawn(t, machine, j, modules.Graph)
	modules.Close()
	t.Setenv("TANDEM_PYTHON", "/absent/python")

	folder := filepath.Join(t.TempDir(), "checkpoints")
	place := func(model string, step string) {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(model, filepath.Join(folder, step)); err != nil {
			t.Fatal(err)
		}
	}
	place(before, "10")
	address, stop := start(t, filepath.Dir(folder), "--reload", "20ms")
	check := func(want []float32) (worst float64) {
		n := len(want)
		for _, rows := range [][2]int{{0, 1}, {1, 8}, {0, n}} {
			for i, p := range predicted(t, address, j.Data.Path, n, rows[0], rows[1]) {
				worst = max(worst, math.Abs(float64(p-want[rows[0]+i])))
			}
		}
		return worst
	}
	if worst := check(old.Probabilities); worst > 1e-5 {
		t.Errorf("a prediction differs by %g from that of the training", worst)
	}
	place(after, "30")
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		worst := check(newer.Probabilities)
		if worst <= 1e-5 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("a prediction of the newer model differs by %g", worst)
		}
	}
	stop()

	fails := func(words string) {
		t.Helper()
		var stderr bytes.Buffer
		code := run(t.Context(), []string{filepath.Join(folder, "30"), "--http", "127.0.0.1:0"}, io.Discard,
			&stderr)
		said := stderr.String()
		if code != 1 || !strings.Contains(said, words) || strings.Count(said, "\n") != 1 {
			t.Errorf("code %d, %s; want %s", code, said, words)
		}
	}
	t.Setenv(inference.ONNXRuntime, "/absent/libonnxruntime.so")
	fails("): set TANDEM_ONNXRUNTIME to a libonnxruntime.so; or add --run-module")
	t.Setenv(inference.ONNXRuntime, library)
	damaged := filepath.Join(folder, "30", checkpoint.GraphFile)
	text, err := os.ReadFile(damaged)
	if err == nil {
		err = os.WriteFile(damaged, bytes.Replace(text, []byte("Gemm"), []byte("Gone"), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	fails(checkpoint.GraphFile + ": the checksum differs: the file is damaged")
}
