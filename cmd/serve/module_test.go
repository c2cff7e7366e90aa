package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/internal/modeltest"
	"tandem/internal/moduletest"
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
	want := "add --run-module if you trust the model\n"
	if code != 1 || !strings.Contains(stderr.String(), want) {
		t.Errorf("code %d, %s; want %s", code, &stderr, want)
	}

	address, stop := start(t, folder, "--run-module", "--batch-rows", "1")
	users, tags, prices := columns(t, j.Data.Path)
	first := len(users) - len(result.Probabilities) // the last rows are those of the test
	input := func(name, kind string, value any) map[string]any {
		return map[string]any{"name": name, "shape": []int{1, 1}, "datatype": kind, "data": []any{value}}
	}
	for i := range 3 {
		at := first + i
		request, err := json.Marshal(map[string]any{"inputs": []any{input("user", "BYTES", users[at]),
			input("tags", "BYTES", tags[at]), input("price", "FP32", prices[at])}})
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.Post(address+"/v2/models/tandem/infer", "application/json",
			bytes.NewReader(request))
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Outputs []struct{ Data []float32 }
		}
		err = json.NewDecoder(response.Body).Decode(&answer)
		response.Body.Close()
		if err != nil || len(answer.Outputs) != 1 {
			t.Fatalf("%v, %+v", err, answer)
		}
		if got := answer.Outputs[0].Data; !slices.Equal(got, result.Probabilities[i:i+1]) {
			t.Errorf("row %d: %v, want %v", i, got, result.Probabilities[i])
		}
	}
	if _, err := os.Stat(once); err != nil {
		t.Error(err)
	}
	stop()
}
