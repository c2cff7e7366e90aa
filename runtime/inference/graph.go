package inference

import (
	"errors"
	"fmt"
	"os"

	"tandem/algo/numeric/model"
	"tandem/runtime/checkpoint"
	"tandem/runtime/onnx"
)

// ONNXRuntime is the environment variable with the file of onnxruntime.
const ONNXRuntime = "TANDEM_ONNXRUNTIME"

// ByGraph returns what computes the network of a model with a module of PyTorch, whose text would run with
// the rights of this program, by its graph, which is data. The library is the one that ONNXRuntime names, or
// libonnxruntime.so.1. Otherwise says what else can be done, at the end of an error.
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
