package checkpoint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/algo/exec/exectest"
	"tandem/runtime/checkpoint"
)

// The error for a folder that is no model says what it is instead, and names the models below it.
func TestWhatIsNoModelIsSaid(t *testing.T) {
	folder, state := trained(t, exectest.Job(4, 2))
	root := t.TempDir()
	mode := filepath.Join(root, "results", "sync")
	for _, step := range []string{"100", "200", "300", "400", ".500-writing"} {
		to := filepath.Join(mode, "checkpoints", step)
		if err := checkpoint.Save(to, manifest(exectest.Job(4, 2)), state); err != nil {
			t.Fatal(err)
		}
	}
	empty := filepath.Join(root, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(mode, "checkpoints", "100")
	for where, want := range map[string]string{
		filepath.Join(root, "nowhere"):             "nowhere: there is no such folder",
		filepath.Join(folder, "dense.safetensors"): "this is a file, and a model is a folder",
		empty:                          "this is not a model, or it is not complete",
		filepath.Join(root, "results"): "these are models: " + first + ", ",
		mode:                           "300, 1 more",
	} {
		_, err := checkpoint.Open(where)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", where, err, want)
		}
	}
	for _, where := range []string{filepath.Join(root, "nowhere"), filepath.Join(root, "results")} {
		_, opened := checkpoint.Open(where)
		if _, _, err := checkpoint.NewestModel(where); err == nil || err.Error() != opened.Error() {
			t.Errorf("%s: NewestModel: error %v, want %v", where, err, opened)
		}
	}
}
