//go:build static || !(linux || darwin) || !(amd64 || arm64)

package blas

import (
	"fmt"

	"tandem/algo/numeric/kernel/gemm"
)

// openLibrary returns an error: this program cannot open libraries.
func openLibrary(name string, _ gemm.Pool) (gemm.Products, error) {
	return nil, fmt.Errorf("%s: this program cannot open libraries: build it without the tag static, "+
		"for Linux or macOS on amd64 or arm64", name)
}
