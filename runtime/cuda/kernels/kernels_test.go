package kernels

import (
	"path/filepath"
	"strings"
	"testing"

	"tandem/internal/pythontest"
)

// NVIDIA's own compiler takes the source for every generation of GPUs since Volta, and warns of nothing but
// the age of the oldest.
func TestSourceCompilesWithNVRTC(t *testing.T) {
	python := pythontest.With(t, "nvidia.cuda_nvrtc")
	arguments := append([]string{filepath.Join("testdata", "nvrtc.py")}, Options()...)
	out := python.Run(t, strings.NewReader(Source()), arguments...)
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if !strings.Contains(line, "Architectures prior to") && !strings.HasPrefix(line, "compiled for sm_") {
			t.Error(line)
		}
	}
	if n := strings.Count(string(out), "compiled for sm_"); n != 4 {
		t.Errorf("compiled for %d architectures:\n%s", n, out)
	}
}

// No kernel adds in an order that depends on time, and none needs a header.
func TestSourceAddsInOneOrderAndIncludesNothing(t *testing.T) {
	for _, word := range []string{"#include", "atomicAdd"} {
		if strings.Contains(Source(), word) {
			t.Errorf("the source contains %s", word)
		}
	}
	if len(Names()) < 30 {
		t.Errorf("%d kernels: %s", len(Names()), strings.Join(Names(), ", "))
	}
}
