//go:build unix

package datasets

import (
	"path/filepath"
	"syscall"
	"testing"

	"tandem/algo/job"
)

// A pipe in the folder, to which no program may ever write, is no file.
func TestPipesAreNoFiles(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(folder, "a.csv"), 0o600); err != nil {
		t.Fatal(err)
	}
	arrive(t, folder, "b.csv", clicks(0, 4))
	never := func(string) bool { return false }
	if name, err := nextFile(folder, job.CompleteRenamed, never); name != "b.csv" || err != nil {
		t.Errorf("the first file is %q, error %v", name, err)
	}
}
