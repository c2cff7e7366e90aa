// Package pythontest runs programs of others, in Python, in tests that compare with them.
package pythontest

import (
	"cmp"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// Python is the path of an interpreter.
type Python string

// With returns python3 if it has the modules of a list such as "pyarrow, torch". Otherwise it skips the test.
func With(t *testing.T, modules string) Python {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3")
	}
	if exec.Command(python, "-c", "import "+modules).Run() != nil {
		t.Skip("needs python3 with " + modules)
	}
	return Python(python)
}

// Torch returns the Python of modules, which the environment variable TANDEM_PYTHON names, or python3. It
// skips the test without torch.
func Torch(t *testing.T) Python {
	t.Helper()
	python := cmp.Or(os.Getenv("TANDEM_PYTHON"), "python3")
	if runtime.GOOS != "linux" || exec.Command(python, "-c", "import torch").Run() != nil {
		t.Skip("needs Linux, and TANDEM_PYTHON, or python3, with torch")
	}
	return Python(python)
}

// ONNXRuntime returns the shared library of onnxruntime, which the environment variable TANDEM_ONNXRUNTIME
// names, or that of the package of python3 or TANDEM_PYTHON. It skips the test without.
func ONNXRuntime(t testing.TB) string {
	t.Helper()
	const find = "import importlib.util, glob, os; s = importlib.util.find_spec('onnxruntime'); " +
		"print(s and next(iter(glob.glob(os.path.dirname(s.origin) + '/capi/libonnxruntime*.so*')), ''))"
	if file := os.Getenv("TANDEM_ONNXRUNTIME"); file != "" {
		return file
	}
	for _, python := range []string{"python3", os.Getenv("TANDEM_PYTHON")} {
		out, err := exec.Command(python, "-c", find).Output()
		file := strings.TrimSpace(string(out))
		if _, absent := os.Stat(file); err == nil && absent == nil {
			return file
		}
	}
	t.Skip("needs TANDEM_ONNXRUNTIME, or python3 with onnxruntime")
	return ""
}

// Run runs Python with arguments and an input, which may be nil, and returns what it prints. What it reports
// goes to the standard error of the test.
func (p Python) Run(t *testing.T, input io.Reader, args ...string) []byte {
	t.Helper()
	command := exec.Command(string(p), args...)
	command.Stdin, command.Stderr = input, os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return out
}
