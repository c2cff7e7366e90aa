// Package blas chooses the implementation of matrix products for this process: the built-in kernels, or a
// shared library that the user names by the environment variable TANDEM_BLAS.
//
//	products, err := blas.FromEnvironment(os.Stderr)
//
// A library is OpenBLAS, oneDNN, MKL, BLIS or any other that exports sgemm_. It is opened while the program
// runs and called without cgo, through purego, with one thread. A product is cut into tasks by its shape
// alone, and the tasks run on the pool of the products. So the library uses as many threads as the pool has,
// ranks that multiply at the same time do not compete for a thread pool of the library, and the bits do not
// depend on the number of workers.
//
// A library does not promise everything that gemm.NewProducts promises: the bits of a row may depend on the
// number of other rows in the product, because libraries choose their inner loops by shape.
//
// A program built with the tag "static" does not contain purego and cannot open a library.
//
// # Decisions
//
//   - Products are cut by shape, so small ones are cut, too.
//   - purego calls sgemm_, where every argument is an address. The call of oneDNN needs thirty lines of
//     assembly (mixed_amd64.s).
//   - On every engine sync has the bits of sequential, runs replay, and the number of cores does not matter:
//     TestInvariantsHoldOnEveryImplementation.
package blas
