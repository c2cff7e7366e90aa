package blas_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/algo/numeric/kernel/gemm"
	"tandem/runtime/blas"
)

func TestDefaultIsBuiltIn(t *testing.T) {
	for _, request := range []string{"", blas.BuiltIn} {
		p, note, err := blas.Open(request, nil)
		if err != nil || note != "" || p.Name() != gemm.NewProducts(nil).Name() {
			t.Errorf("%q: %v, %q, %v", request, p, note, err)
		}
	}
}

// Every name opens its library, or returns an error that names what is missing and what to
// do; auto opens one of them or writes a message.
func TestRequests(t *testing.T) {
	opened := map[string]bool{}
	for _, name := range blas.Names() {
		p, _, err := blas.Open(name, nil)
		switch {
		case err == nil:
			opened[name] = true
			if p.Name() == "" || blas.GFLOPS(p) <= 0 {
				t.Errorf("%s: name %q", name, p.Name())
			}
		case !strings.HasPrefix(err.Error(), "TANDEM_BLAS="+name+": ") ||
			!strings.HasSuffix(err.Error(), "unset TANDEM_BLAS for the built-in kernels"):
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Setenv(blas.Variable, blas.Auto)
	var messages bytes.Buffer
	p, err := blas.FromEnvironment(&messages)
	if err != nil {
		t.Fatal(err)
	}
	isBuiltIn := p.Name() == gemm.NewProducts(nil).Name()
	if isBuiltIn == (opened["openblas"] || opened["onednn"]) ||
		isBuiltIn != (strings.Count(messages.String(), "\n") == 1) {
		t.Errorf("auto, with %v there: %s; messages %q", opened, p.Name(), messages.String())
	}
}

func TestBadRequests(t *testing.T) {
	notALibrary := filepath.Join(t.TempDir(), "text.so")
	if err := os.WriteFile(notALibrary, []byte("no library\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for request, want := range map[string]string{
		"opnblas": "TANDEM_BLAS=opnblas is not known; " +
			"set it to built-in, blis, mkl, onednn, openblas, auto, or the path of a library",
		"/nowhere/lib.so": "TANDEM_BLAS=/nowhere/lib.so: ",
		notALibrary:       "TANDEM_BLAS=" + notALibrary + ": ",
		"libc.so.6":       "TANDEM_BLAS=libc.so.6: ",
	} {
		_, _, err := blas.Open(request, nil)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s…", request, err, want)
		}
	}
}
