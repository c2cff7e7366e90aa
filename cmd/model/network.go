package main

import (
	"errors"
	"os"

	"tandem/algo/exec/backend"
	"tandem/runtime/inference"
	"tandem/runtime/torch"
)

// withModel opens a model, uses it and closes it. A module of PyTorch is computed by its ONNX, without its
// text, where the environment names an onnxruntime, and by Python otherwise.
func (p *program) withModel(folder string, use func(*inference.Model) error) error {
	modules := torch.FromEnvironment(p.stderr)
	defer modules.Close()
	machine := backend.Backend{Torch: modules.SavedEngine}
	if _, named := os.LookupEnv(inference.ONNXRuntime); named { // empty: the library that the system finds
		machine = backend.Backend{Graph: inference.ByGraph("if you trust the model, unset " +
			inference.ONNXRuntime + ": Python then runs the text of its module")}
	}
	m, err := inference.OpenOn(machine, folder)
	if err != nil {
		return err
	}
	return errors.Join(use(m), m.Close())
}
