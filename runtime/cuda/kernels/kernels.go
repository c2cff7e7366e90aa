// Package kernels has the CUDA C source of what a device computes beside matrix products.
//
// A kernel includes no header, and adds floating-point numbers in an order that depends on shapes alone, so
// that a run can be repeated bit for bit. Its twin in Go, of the same name in other letters, is in
// algo/numeric/kernel/nn, algo/numeric/opt or algo/numeric/model. Those of embedding rows (rows.cu) do what
// the packages algo/numeric/table and algo/numeric/route do on the host, with the same bits.
//
// The sources are in the tree, and NVRTC compiles them when a GPU is first used. That needs no nvcc, no
// header and no binary in the tree, and one program serves every generation of GPUs. The price is some
// seconds at the first start.
package kernels

import (
	_ "embed"
	"strings"
)

//go:embed elementwise.cu
var elementwise string

//go:embed columns.cu
var columns string

//go:embed parts.cu
var parts string

//go:embed optimizer.cu
var optimizer string

//go:embed rows.cu
var rows string

// Source is one program with all kernels.
func Source() string { return elementwise + columns + parts + optimizer + rows }

// Options are those of the compiler. Products are rounded before they are added, as on the processor: these
// kernels wait for memory, not for arithmetic.
func Options() []string { return []string{"--fmad=false"} }

// The shapes of blocks and chunks that the source expects.
const (
	ColumnsPerBlock = 32
	RowsPerBlock    = 8   // LANES
	ChunkRows       = 256 // CHUNK
	SumThreads      = 256 // SUM_THREADS

	RowLanes           = 16   // ROW_LANES
	RowsOfBlock        = 16   // ROWS_OF_BLOCK
	CountThreads       = 256  // COUNT_THREADS
	Digits             = 256  // DIGITS
	DigitBits          = 8    // of DIGITS
	OccurrencesOfChunk = 1024 // OCCURRENCES_OF_CHUNK
	SortedOfChunk      = 2048 // SORTED_OF_CHUNK
)

// Names lists the kernels.
func Names() []string { return names }

var names = func() (all []string) {
	for _, line := range strings.Split(Source(), "\n") {
		if rest, ok := strings.CutPrefix(line, `extern "C" __global__ void `); ok {
			name, _, _ := strings.Cut(rest, "(")
			all = append(all, name)
		}
	}
	return all
}()
