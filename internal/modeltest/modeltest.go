// Package modeltest makes the models that tests of their users share.
package modeltest

import (
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// Train trains a job in this process and keeps its model in a new folder.
func Train(t testing.TB, j job.Job) (folder string, result *train.Result) {
	t.Helper()
	return TrainOn(t, backend.Backend{}, j)
}

// TrainOn is Train, for a job whose network a backend runs.
func TrainOn(t testing.TB, machine backend.Backend, j job.Job) (folder string, result *train.Result) {
	t.Helper()
	return TrainDrawn(t, machine, j, nil)
}

// TrainDrawn is TrainOn, for a model that has its network as ONNX, as graph returns it.
func TrainDrawn(t testing.TB, machine backend.Backend, j job.Job,
	graph func(*job.Job, *batch.Schema) ([]byte, error)) (folder string, result *train.Result) {
	t.Helper()
	data, err := datasets.Open(j.Data, "")
	if err != nil {
		t.Fatal(err)
	}
	source, err := datasets.TrainingSource(data, &j)
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(j.Resolved())
	if err != nil {
		t.Fatal(err)
	}
	m := &checkpoint.Manifest{Mode: j.Training.Mode, Step: source.Steps(), Job: text, Scaling: data.Scaling}
	if graph != nil {
		schema := datasets.WithDims(data.Schema, &j)
		if m.Graph, err = graph(&j, &schema); err != nil {
			t.Fatal(err)
		}
	}
	folder = filepath.Join(t.TempDir(), "model")
	result, err = train.Run(t.Context(), j, source, data.Test, train.Options{
		Backend: machine,
		Trained: func(s exec.State) error { return checkpoint.Save(folder, m, s) }})
	if err != nil {
		t.Fatal(err)
	}
	return folder, result
}
