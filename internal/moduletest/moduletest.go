package moduletest

import (
	"os"
	"runtime"
	"testing"

	"tandem/algo/numeric/model"
)

// variable makes the program a stub.
const variable = "TANDEM_MODULE_STUB"

// Main becomes the stub if the program is to be one.
func Main() {
	if os.Getenv(variable) != "" && len(os.Args) == 4 && os.Args[2] == "-c" {
		if err := serve(); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// Variables returns the environment in which Modules start the stub, by name. It skips the test where there
// can be no module.
func Variables(t testing.TB) map[string]string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("modules need the shared memory of Linux")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{variable: "1", "TANDEM_PYTHON": program}
}

// Use sets the Variables for this program and those that it starts.
func Use(t *testing.T) {
	t.Helper()
	for name, value := range Variables(t) {
		t.Setenv(name, value)
	}
}

// Places of a Fault: the trial, fresh parameters, a forward pass of a training, or of a prediction, with more
// samples than a trial has, and others.
const (
	Describe = "describe"
	Init     = "init"
	Train    = "train"
	Predict  = "predict"
	Graph    = "graph" // the network as ONNX
)

// Constant is the class of a network that always predicts one half.
const Constant = "Constant"

// Own is the class of a network with a loss of its own: half the squared error.
const Own = "Own"

// Drawn is the class of a network that is written as ONNX without its values.
const Drawn = "Drawn"

// Version is that of torch which the stub says it is.
const Version = "0.stub"

// Stepping is the class of a network whose file has an optimizer, with the count of its steps as a state.
const Stepping = "Stepping"

// Kinds of a Fault.
const (
	Dies    = "dies"    // of SIGKILL
	Hangs   = "hangs"   // in the middle of an answer
	Raises  = "raises"  // says "net.py:7: forward: ValueError: no such user"
	Garbled = "garbled" // answers with a line that is not JSON
	Floods  = "floods"  // prints a MiB, and a line without an end
)

// Fault is what goes wrong in a stub.
type Fault struct {
	Kind string `json:"kind"`
	At   string `json:"at"`
	// Once, if not empty, is a file that does not exist. The first stub at the place creates it, and only
	// this one has the fault.
	Once string `json:"once"`
	// After is the number of times that a stub passes the place before.
	After int `json:"after"`
}

// Spec returns a module with a fault, on rows of some values.
func Spec(dim int, f Fault) model.Spec {
	return model.Spec{Kind: model.Torch, File: "/absent/net.py", Class: "Net", Source: "class Net: pass\n",
		EmbeddingDim: dim, Arguments: map[string]any{"kind": f.Kind, "at": f.At, "once": f.Once,
			"after": f.After}}
}
