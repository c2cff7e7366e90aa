//go:build !static && (linux || darwin) && (amd64 || arm64)

package blas

import (
	"fmt"
	"os"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/cpu"
)

// prepareEnvironment sets the variables that libraries read from C's environment while
// they are loaded. Go's os.Setenv does not change that environment without cgo, and
// would pass the settings on to child processes.
//
//   - One thread: the tasks of a product run on the pool.
//   - OPENBLAS_CORETYPE=SkylakeX where the CPU has AVX-512 and the user has not set the
//     variable: OpenBLAS 0.3.21 treats newer Xeons as a Haswell, which makes it slower
//     by a third to a half.
func prepareEnvironment() error {
	setenv, err := purego.Dlsym(purego.RTLD_DEFAULT, "setenv")
	if err != nil {
		return fmt.Errorf("the C library has no setenv: %w", err)
	}
	set := func(name, value string) {
		n, v := append([]byte(name), 0), append([]byte(value), 0)
		const overwrite = 1
		call(setenv, uintptr(unsafe.Pointer(&n[0])), uintptr(unsafe.Pointer(&v[0])), overwrite)
	}
	for _, name := range []string{"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
		"BLIS_NUM_THREADS"} {
		set(name, "1")
	}
	if _, said := os.LookupEnv("OPENBLAS_CORETYPE"); !said && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW &&
		cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL {
		set("OPENBLAS_CORETYPE", "SkylakeX")
	}
	return nil
}
