package main

import (
	"os"
	"testing"
)

// The committed files are what the generator writes.
func TestCommittedFilesAreGenerated(t *testing.T) {
	for name, want := range map[string]string{"../gemm_amd64.s": assembly(), "../gemm_tiles_amd64.go": declarations()} {
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is not what the generator writes: run go generate ./algo/numeric/kernel", name)
		}
	}
}
