// Package pythontest runs programs of others, in Python, in tests that compare with them.
package pythontest

import (
	"io"
	"os"
	"os/exec"
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
