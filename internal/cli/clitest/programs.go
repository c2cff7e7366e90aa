package clitest

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Programs builds commands of this module, such as "sim", and returns a folder with their programs. It lets
// "go run" copy them, because "go build" links a program again every time, while "go run" keeps it in Go's
// cache until it changes.
func Programs(t testing.TB, commands ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range commands {
		run := exec.Command("go", "run", "-exec", "cp", "tandem/cmd/"+name, filepath.Join(folder, name))
		if text, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", run, err, text)
		}
	}
	return folder
}
