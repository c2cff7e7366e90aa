package cuda_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/runtime/cuda"
	"tandem/runtime/cuda/softgpu"
)

// TestOpen opens what is not there, or not what it should be.
func TestOpen(t *testing.T) {
	softgpu.Only(t)
	good := softgpu.Libraries(t)
	missing := filepath.Join(t.TempDir(), "libcuda.so.1")
	for _, c := range []struct {
		name, setting, value string
		libraries            cuda.Libraries
		noDriver             bool
		want                 []string
	}{
		{"no driver", "", "", cuda.Libraries{Driver: missing}, true,
			[]string{"no GPU of NVIDIA can be used: ",
				"cannot open the library of NVIDIA's driver: ", missing, "No such file or directory"}},
		{"another library", "", "", cuda.Libraries{Driver: "libc.so.6"}, true, []string{"(libc.so.6)",
			"is too old or another one: it lacks cuDriverGetVersion"}},
		{"no device", "TANDEM_SOFTGPU_DEVICES", "0", good, true, []string{"no GPU of NVIDIA can be used: ",
			"cuInit: no CUDA-capable device is detected"}},
		{"old driver", "TANDEM_SOFTGPU_DRIVER", "11020", good, false,
			[]string{good.Driver[:len(good.Driver)-1],
				"is too old: it supports CUDA 11.2, want 11.4 or later"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.setting != "" {
				softgpu.Set(t, c.setting, c.value)
			}
			_, err := cuda.Open(c.libraries)
			if err == nil {
				t.Fatal("no error")
			}
			if errors.Is(err, cuda.ErrNoDriver) != c.noDriver || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q: it wraps ErrNoDriver: %v", err, !c.noDriver)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

// TestOtherLibraries opens a device without the libraries that only some work needs.
func TestOtherLibraries(t *testing.T) {
	libraries := softgpu.Libraries(t)
	libraries.Compiler, libraries.BLAS, libraries.Collectives = "libc.so.6", "/nothing/libcublasLt.so.12",
		"libnone.so"
	driver := must(cuda.Open(libraries))
	device := must(driver.Open(0))
	defer device.Close()
	_, compiler := device.Compile("f.cu", "")
	_, blas := device.NewBLAS()
	_, collectives := device.NewCommunicator(t.Context(), cuda.UniqueID{}, 1, 0)
	for _, c := range []struct {
		err  error
		want string
	}{
		{compiler,
			"lacks nvrtcGetErrorString, nvrtcVersion, nvrtcGetNumSupportedArchs, nvrtcGetSupportedArchs"},
		{blas, "cannot open the library of matrix products, cuBLASLt: /nothing/libcublasLt.so.12: "},
		{collectives, "cannot open the library of collectives, NCCL: libnone.so: "},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("error %v does not say %q", c.err, c.want)
		}
	}
}

// TestUnwritableCache compiles although nothing can be kept.
func TestUnwritableCache(t *testing.T) {
	libraries := softgpu.Libraries(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, cache := range []string{filepath.Join(file, "below"), cuda.None} {
		libraries.Cache = cache
		device := must(must(cuda.Open(libraries)).Open(0))
		defer device.Close()
		if _, err := device.Compile("f.cu", "extern \"C\" __global__ void f() {}"); err != nil {
			t.Errorf("cache %s: %v", cache, err)
		}
	}
}
