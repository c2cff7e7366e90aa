package torch_test

import (
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tandem/internal/build"
	"tandem/runtime/torch"
)

// runPython runs a script, which ends by printing good.
func runPython(t *testing.T, python, script string, args ...string) {
	t.Helper()
	command := osexec.Command(python, append([]string{script}, args...)...)
	command.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1") // in the source
	out, err := command.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "good\n") {
		t.Errorf("%v: %s", err, out)
	}
}

// The Python package gives a program its arguments, passes on what it says, and takes a class from a file or
// from the cell of a notebook.
func TestPythonPackage(t *testing.T) {
	python, err := osexec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3")
	}
	runPython(t, python, "testdata/package.py", "python", t.TempDir())
}

// What the package trains and loads predicts in plain PyTorch what the model does, to 1e-5.
func TestPythonPackageLoadsWhatItHasTrained(t *testing.T) {
	modules(t)
	folder := t.TempDir()
	for _, name := range []string{"train", "model"} {
		if err := build.Program(t.Context(), filepath.Join(folder, name), "tandem/cmd/"+name); err != nil {
			t.Fatal(err)
		}
	}
	var text strings.Builder
	text.WriteString("site,price,clicked\n")
	for i := range 2000 {
		fmt.Fprintf(&text, "s%d,%d.5,%d\n", i%7, i%11, i%7/4)
	}
	table := filepath.Join(folder, "clicks.csv")
	if err := os.WriteFile(table, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TANDEM_HOME", folder)
	runPython(t, torch.FromEnvironment(os.Stderr).Python, "testdata/load.py", "python", table,
		filepath.Join(folder, "predictions.csv"))
}
