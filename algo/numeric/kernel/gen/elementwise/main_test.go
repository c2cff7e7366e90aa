package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestCommittedFilesAreWhatTheGeneratorWrites(t *testing.T) {
	for name, want := range files() { // order-free: each compares its own file
		got, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs from what the generator writes: run go generate ./algo/numeric/kernel", name)
		}
	}
}
