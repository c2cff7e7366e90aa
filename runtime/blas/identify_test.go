//go:build linux && !static && (amd64 || arm64)

package blas

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Libraries that lack a symbol, are too old, or are something else under a
// familiar name are refused. They are made here, where there is a C compiler.
func TestUnsuitableLibrariesAreRefused(t *testing.T) {
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	for _, tt := range []struct{ name, source, want string }{
		{"empty", "", "has neither sgemm_ nor dnnl_sgemm: not a library of matrix products, or one too old"},
		{"old", "int v[5] = {1, 8, 0}; void *dnnl_version(void) { return v; } void dnnl_sgemm(void) {}",
			"oneDNN 1.8.0 is too old, want 2.0 or later"},
		{"lacking", "int v[5] = {3, 1, 0}; void *dnnl_version(void) { return v; }",
			"oneDNN 3.1.0 lacks dnnl_sgemm"},
		{"failing", "int v[5] = {3, 1, 0}; void *dnnl_version(void) { return v; } " +
			"int dnnl_sgemm(void) { return 3; }",
			"oneDNN 3.1.0 returns status 3 for a product of 2×3 by 3×2"},
		{"brief", "void sgemm_(void) {} char *openblas_get_config(void) { return \"X\"; }",
			"X computes a product as [1 1 1 1], want [6 12 15 24]"},
		{"version", "void sgemm_(void) {} " +
			"void MKL_Get_Version_String(char *v, int n) { v[0] = 'M'; v[1] = ' '; v[2] = 0; }",
			"M computes a product as [1 1 1 1], want [6 12 15 24]"},
		{"wrong", "void sgemm_(void) {}",
			"a BLAS of unknown make computes a product as [1 1 1 1], want [6 12 15 24]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folder := t.TempDir()
			source, file := filepath.Join(folder, "x.c"), filepath.Join(folder, tt.name+".so")
			if err := os.WriteFile(source, []byte(tt.source), 0o644); err != nil {
				t.Fatal(err)
			}
			if said, err := exec.Command(compiler, "-shared", "-fPIC", "-o", file,
				source).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, said)
			}
			if _, err := openLibrary(file, nil); err == nil ||
				!strings.HasSuffix(err.Error(), file+": "+tt.want) {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
}
