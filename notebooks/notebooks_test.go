package notebooks

import (
	"flag"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// The kernels of the notebooks.
const (
	gonb   = "gonb"
	python = "python3"
)

var rewritten = flag.Bool("rewrite", false, "store the outputs of the notebooks instead of comparing them")

// A Go notebook compiles as a program, and its cells print what is stored, but for the cells whose text
// depends on the timing of threads.
func TestGoNotebooks(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs three programs")
	}
	for _, name := range names(t, gonb) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := read(t, name)
			p := assemble(t, n)
			run := p.run(t, n, p.build(t))
			if *rewritten {
				rewrite(t, name, run)
				return
			}
			compare(t, n, run, true)
		})
	}
}

// The Python notebook reads the stored files of an experiment with the standard library, and prints what is
// stored.
func TestPythonNotebook(t *testing.T) {
	if _, err := exec.LookPath(interpreter()); err != nil {
		t.Skipf("set TANDEM_PYTHON to a Python interpreter: %v", err)
	}
	for _, name := range names(t, python) {
		t.Run(name, func(t *testing.T) {
			n := read(t, name)
			if *rewritten {
				kernels(t)
				rewrite(t, name, convert(t, name))
				return
			}
			compare(t, n, runScript(t, n), false)
		})
	}
}

// In Jupyter, notebooks print and draw what is stored.
func TestJupyter(t *testing.T) {
	if testing.Short() || *rewritten {
		t.Skip("runs notebooks in Jupyter")
	}
	found := kernels(t)
	for _, kernel := range []string{gonb, python} {
		for _, name := range names(t, kernel) {
			t.Run(name, func(t *testing.T) {
				if !slices.Contains(found, kernel) {
					t.Skipf("Jupyter has no kernel %s, only %s", kernel, found)
				}
				compare(t, read(t, name), convert(t, name), true)
			})
		}
	}
}

// The folder stays small enough to be read on a git host.
func TestSize(t *testing.T) {
	const limit = 1 << 20
	sum := int64(0)
	err := filepath.WalkDir(".", func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		sum += info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if sum > limit {
		t.Errorf("%d bytes, want at most %d", sum, limit)
	}
}
