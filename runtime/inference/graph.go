package inference

import (
	"errors"
	"fmt"
	"os"

	"tandem/algo/numeric/model"
	"tandem/runtime/checkpoint"
	"tandem/runtime/onnx"
)

// ONNXRuntime is the environment variable that names the shared library of onnxruntime.
const ONNXRuntime = "TANDEM_ONNXRUNTIME"

// ByGraph returns a function that computes a module of PyTorch by its ONNX graph. The graph is data; the text
// of the module, a program, is not run. The library is the one that ONNXRuntime names, or
// libonnxruntime.so.1. Otherwise ends each error with what else the user can do.
func ByGraph(otherwise string) func([]byte, model.Layout, model.Values) (model.Engine, error) {
	return func(graph []byte, layout model.Layout, values model.Values) (model.Engine, error) {
		if len(graph) == 0 {
			return nil, errors.New("it has a module of PyTorch, and no " + checkpoint.GraphFile + ": train " +
				"it with a Python that has the packages onnx and onnxscript; or " + otherwise)
		}
		library, err := onnx.Open(os.Getenv(ONNXRuntime))
		if err != nil {
			return nil, fmt.Errorf("it has a module of PyTorch, and there is no onnxruntime to compute it "+
				"(%w): set %s to a libonnxruntime.so; or %s", err, ONNXRuntime, otherwise)
		}
		engine, err := library.Engine(graph, layout, values)
		if err != nil {
			return nil, fmt.Errorf("it has a module of PyTorch, and %s: %w; or %s", checkpoint.GraphFile, err,
				otherwise)
		}
		return engine, nil
	}
}
