// Package pythontest runs programs of others, in Python, in tests that compare with them.
package pythontest

import (
	"cmp"
	"io"
	"os"
	"os/exec"
	"runtime"
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
