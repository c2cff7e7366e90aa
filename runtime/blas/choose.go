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

// Variable is the environment variable that names the implementation. Its values:
//
//	(not set), built-in   the built-in kernels
//	openblas, onednn, …   a library of Names
//	/path/of/lib.so       any other library that exports sgemm_
//	auto                  the first of openblas, onednn and built-in that is available
const Variable = "TANDEM_BLAS"

// Values of Variable besides the names and paths of libraries.
const (
	BuiltIn = "built-in"
	Auto    = "auto"
)

// FromEnvironment returns the products that TANDEM_BLAS names, on a pool of all cores
// that lives as long as the process. It returns an error if the named library cannot be
// opened. If auto finds no library, it writes one line to messages and returns the
// built-in products.
func FromEnvironment(messages io.Writer) (gemm.Products, error) {
	products, note, err := Open(os.Getenv(Variable), all())
	if note != "" {
		fmt.Fprintln(messages, note)
	}
	return products, err
}

// all is the pool of this process, with as many goroutines as cores. Callers that keep
// all cores busy themselves, as several ranks do, run their own tasks.
var all = sync.OnceValue(func() gemm.Pool { return parallel.New(runtime.GOMAXPROCS(0)) })

// Open returns the products for a value of Variable. Tasks run on the pool, or on the
// calling goroutine if it is nil. The note, if not empty, is a line for the user.
func Open(request string, pool gemm.Pool) (products gemm.Products, note string, err error) {
	switch request {
	case "", BuiltIn:
		return gemm.NewProducts(pool), "", nil
	case Auto:
		var missing []string
		for _, name := range []string{"openblas", "onednn"} {
			opened, err := openLibrary(name, pool)
			if err == nil {
				return opened, "", nil
			}
			missing = append(missing, err.Error())
		}
		note = fmt.Sprintf("%s=%s: no library is available, so the built-in kernels multiply: %s",
			Variable, request, strings.Join(missing, "; "))
		return gemm.NewProducts(pool), note, nil
	}
	if !slices.Contains(Names(), request) && !isPath(request) {
		return nil, "", fmt.Errorf("%s=%s is not known; set it to %s, %s, %s, or the path of a library",
			Variable, request, BuiltIn, strings.Join(Names(), ", "), Auto)
	}
	if products, err = openLibrary(request, pool); err != nil {
		return nil, "", fmt.Errorf("%s=%w; install it, give its path, or unset %s for the built-in kernels",
			Variable, err, Variable)
	}
	return products, "", nil
}

// GFLOPS measures products of 512 × 512 matrices for a twentieth of a second, at least
// three, after one that loads code and data into the caches. It returns the best rate in
// GFLOP/s, rounded to a tenth.
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
