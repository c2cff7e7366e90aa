package clitest

import (
	"path/filepath"
	"testing"

	"tandem/internal/build"
)

// Programs builds commands of this module, such as "sim", and returns a folder with their programs.
func Programs(t testing.TB, commands ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range commands {
		if err := build.Program(t.Context(), filepath.Join(folder, name), "tandem/cmd/"+name); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}
