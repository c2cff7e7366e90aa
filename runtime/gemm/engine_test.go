package gemm_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/algo/numeric/kernel"
	"tandem/runtime/gemm"
	"tandem/runtime/gemm/blas"
)

func TestNothingAskedForIsBuiltIn(t *testing.T) {
	for _, request := range []string{"", gemm.BuiltIn} {
		p, note, err := gemm.Open(request, nil)
		if err != nil || note != "" || p.Name() != kernel.NewProducts(nil).Name() {
			t.Errorf("%q: %v, %q, %v", request, p, note, err)
		}
	}
}

// Every name opens its library, where the machine has it, or says what is missing
// and what to do; auto opens one of them or says that it could not.
func TestRequests(t *testing.T) {
	opened := map[string]bool{}
	for _, name := range blas.Names() {
		p, _, err := gemm.Open(name, nil)
		switch {
		case err == nil:
			opened[name] = true
			if p.Name() == "" || gemm.GFLOPS(p) <= 0 {
				t.Errorf("%s: name %q", name, p.Name())
			}
		case !strings.HasPrefix(err.Error(), "TANDEM_BLAS="+name+": ") || !strings.HasSuffix(err.Error(), "unset TANDEM_BLAS for the built-in kernels"):
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Setenv(gemm.Variable, gemm.Auto)
	var said bytes.Buffer
	p, err := gemm.FromEnvironment(&said)
	if err != nil {
		t.Fatal(err)
	}
	isBuiltIn := p.Name() == kernel.NewProducts(nil).Name()
	if isBuiltIn == (opened["openblas"] || opened["onednn"]) || isBuiltIn != (strings.Count(said.String(), "\n") == 1) {
		t.Errorf("auto, with %v there: %s; said %q", opened, p.Name(), said.String())
	}
}

func TestBadRequests(t *testing.T) {
	notALibrary := filepath.Join(t.TempDir(), "text.so")
	if err := os.WriteFile(notALibrary, []byte("no library\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for request, want := range map[string]string{
		"opnblas":         "TANDEM_BLAS=opnblas names no engine; it may be built-in, blis, mkl, onednn, openblas, auto, or the path of a shared library",
		"/nowhere/lib.so": "TANDEM_BLAS=/nowhere/lib.so: ",
		notALibrary:       "TANDEM_BLAS=" + notALibrary + ": ",
		"libc.so.6":       "TANDEM_BLAS=libc.so.6: ",
	} {
		_, _, err := gemm.Open(request, nil)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s…", request, err, want)
		}
	}
}
