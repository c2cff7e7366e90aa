package blas

import (
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"tandem/algo/numeric/kernel/gemm"
	"tandem/internal/parallel"
)

// Variable is the environment variable that names the engine. It may be
//
//	(not set), built-in   the built-in kernels
//	openblas, onednn, …   a library of blas.Names
//	/path/of/lib.so       any other library that exports sgemm_
//	auto                  the first of openblas, onednn and built-in that there is
const Variable = "TANDEM_BLAS"

// Requests besides the names and paths of libraries.
const (
	BuiltIn = "built-in"
	Auto    = "auto"
)

// FromEnvironment returns the products that TANDEM_BLAS asks for, spread over a
// pool of all cores that lives as long as the process. What was asked for by name
// is there or an error; where auto finds no library, say is told so in one line.
func FromEnvironment(say io.Writer) (gemm.Products, error) {
	products, note, err := Open(os.Getenv(Variable), all())
	if note != "" {
		fmt.Fprintln(say, note)
	}
	return products, err
}

// all is the pool of this process, as many as it has cores. Callers that keep all
// cores busy by themselves, as several ranks do, do their own pieces.
var all = sync.OnceValue(func() gemm.Pool { return parallel.New(runtime.GOMAXPROCS(0)) })

// Open is FromEnvironment for a given value of the variable and a pool; nil is the
// calling goroutine alone. The note, if there is one, is a line for the user.
func Open(request string, helpers gemm.Pool) (products gemm.Products, note string, err error) {
	switch request {
	case "", BuiltIn:
		return gemm.NewProducts(helpers), "", nil
	case Auto:
		var missing []string
		for _, name := range []string{"openblas", "onednn"} {
			opened, err := openLibrary(name, helpers)
			if err == nil {
				return opened, "", nil
			}
			missing = append(missing, err.Error())
		}
		return gemm.NewProducts(helpers), fmt.Sprintf("%s=%s: the built-in kernels multiply, for no library does: %s", Variable, request, strings.Join(missing, "; ")), nil
	}
	if !slices.Contains(Names(), request) && !isPath(request) {
		return nil, "", fmt.Errorf("%s=%s names no engine; it may be %s, %s, %s, or the path of a shared library",
			Variable, request, BuiltIn, strings.Join(Names(), ", "), Auto)
	}
	if products, err = openLibrary(request, helpers); err != nil {
		return nil, "", fmt.Errorf("%s=%w; install it, give its path, or unset %s for the built-in kernels", Variable, err, Variable)
	}
	return products, "", nil
}

// GFLOPS measures products of 512 × 512 matrices on an engine for a twentieth of a
// second, at least three, after one that brings code and data in. It returns the
// best rate that it has shown in GFLOP/s, to a tenth.
func GFLOPS(p gemm.Products) float64 {
	const size, least, window = 512, 3, 50 * time.Millisecond
	a, b, c := make([]float32, size*size), make([]float32, size*size), make([]float32, size*size)
	for i := range a {
		a[i], b[i] = float32(i%7), float32(i%5)
	}
	multiply := func() { p.Gemm(false, true, size, size, size, a, size, b, size, 0, c, size) }
	multiply()
	best, begin := time.Hour, time.Now()
	for n := 0; n < least || time.Since(begin) < window; n++ {
		start := time.Now()
		multiply()
		best = max(1, min(best, time.Since(start)))
	}
	return math.Round(10*2*size*size*size/float64(best.Nanoseconds())) / 10
}
