package torch

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
)

// graphFile is the name of the file that a process writes.
const graphFile = "module.onnx"

// Graph returns the module of a job as ONNX without its values, as runtime/onnx wants it. It is nil without
// an error for a network that is no module, and where the Python has no packages for ONNX. The error says in
// a line why there is none, and what follows; the module can be trained nevertheless, if Engine has no error.
// Cost: seconds, in a process of its own, which ends.
func (m *Modules) Graph(j *job.Job, schema *batch.Schema) ([]byte, error) {
	if j.Model.Kind != model.Torch {
		return nil, nil
	}
	graph, err := m.write(j, schema)
	if err != nil {
		err = fmt.Errorf("the models are served with --run-module alone, as PyTorch cannot write the module "+
			"as ONNX: %w", err)
	}
	return graph, err
}

// write is Graph for a module.
func (m *Modules) write(j *job.Job, schema *batch.Schema) (graph []byte, err error) {
	if _, err := m.HostEngine(j, schema); err != nil {
		return nil, err
	}
	m.mu.Lock()
	possible := m.onnx
	m.mu.Unlock()
	if !possible {
		return nil, nil
	}
	c := m.config(j, schema)
	c.Compile, c.TF32, c.Devices, c.Graph = false, false, nil, true
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	p, err := m.find(text)
	if err != nil {
		return nil, err
	}
	defer p.close()
	folder, err := os.MkdirTemp("", "tandem-graph-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	file := filepath.Join(folder, graphFile)
	answer, err := p.ask(request{Do: "graph", File: file}, nil)
	if err == nil && answer.LeftOut != "" {
		err = errors.New(answer.LeftOut)
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}
