package notebooks

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// interpreter returns python3, or the interpreter that TANDEM_PYTHON names.
func interpreter() string { return cmp.Or(os.Getenv("TANDEM_PYTHON"), "python3") }

// kernels returns the names of Jupyter's kernels, or skips the test where there is no Jupyter.
func kernels(t *testing.T) []string {
	t.Helper()
	const script = `import json, nbconvert
from jupyter_client.kernelspec import KernelSpecManager
print(json.dumps(sorted(KernelSpecManager().find_kernel_specs())))`
	printed, err := exec.Command(interpreter(), "-c", script).Output()
	if err != nil {
		t.Skipf("set TANDEM_PYTHON to an interpreter with nbconvert and ipykernel: %v", err)
	}
	var names []string
	if err := json.Unmarshal(printed, &names); err != nil {
		t.Fatal(err)
	}
	return names
}

// convert runs a notebook in Jupyter and returns the outputs of its code cells.
func convert(t *testing.T, name string) (all []output) {
	t.Helper()
	folder := t.TempDir()
	c := exec.Command(interpreter(), "-m", "nbconvert", "--to", "notebook", "--execute", "--output-dir",
		folder, "--ExecutePreprocessor.record_timing=False", name)
	c.Env = append(os.Environ(), "TANDEM_BLAS=")
	if printed, err := c.CombinedOutput(); err != nil {
		t.Fatalf("nbconvert: %v\n%s", err, printed)
	}
	run := read(t, filepath.Join(folder, name))
	for i := range run.Cells {
		c := &run.Cells[i]
		if c.Type != "code" {
			continue
		}
		if strings.HasPrefix(string(c.Source), "!") {
			all = append(all, output{}) // what a shell command prints is not compared
			continue
		}
		o, err := c.stored()
		if err != nil {
			t.Fatalf("cell %d: %v", i, err)
		}
		all = append(all, o)
	}
	return all
}

// runScript runs the cells of a Python notebook in one interpreter without Jupyter, and returns what they
// print. There are no figures without Jupyter.
func runScript(t *testing.T, n *notebook) (all []output) {
	t.Helper()
	const script = `import contextlib, io, json, os, sys
os.environ["MPLBACKEND"] = "Agg"
printed, scope = [], {}
for number, source in enumerate(json.load(sys.stdin)):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, f"code cell {number}", "exec"), scope)
    printed.append(out.getvalue())
print(json.dumps(printed))`
	var sources []string
	for _, c := range n.Cells {
		if c.Type == "code" {
			sources = append(sources, string(c.Source))
		}
	}
	in, err := json.Marshal(sources)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(interpreter(), "-c", script)
	c.Stdin = strings.NewReader(string(in))
	var complaints strings.Builder
	c.Stderr = &complaints
	result, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, complaints.String())
	}
	var printed []string
	if err := json.Unmarshal(result, &printed); err != nil {
		t.Fatal(err)
	}
	for _, p := range printed {
		all = append(all, output{printed: p})
	}
	return all
}
