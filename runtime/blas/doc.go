// Package blas multiplies matrices by a shared library that it opens while the
// program runs: OpenBLAS, oneDNN, MKL, BLIS or any other that exports sgemm_.
//
// The library is called without cgo, through purego. It is told to use one
// thread. A product is cut into pieces by its shape alone, and the pieces are
// done by the pool that the products were made for: so the library gets as many
// threads as the pool has, ranks that multiply at the same time do not fight
// over its thread pool, and the bits do not depend on the number of workers.
//
// What is not promised is what gemm.NewProducts promises beyond that: the bits
// of a row may depend on how many other rows are in the product, because
// libraries choose their inner loops by shape.
//
// A program built with the tag "static" has no package purego in it and can open
// nothing.
package blas
