// Package stack keeps local variables on the stack that are passed to kernels. Kernels
// are called through function values, for which the compiler assumes that arguments
// escape: it would allocate every local variable to which an argument points.
package stack

import "unsafe"

// noescape returns p, but hides from the compiler's escape analysis that it does. It is the runtime's own,
// which the compiler knows to return a pointer. What makes a pointer of the bytes of a number may be kept as
// a number beyond the next call, and then points to the old stack if that call moves the stack.
//
//go:linkname noescape runtime.noescape
//go:noescape
func noescape(p unsafe.Pointer) unsafe.Pointer

// Pointer returns p, but hides from the compiler's escape analysis that the result points
// to the same variable. The function that gets the result must not keep it.
func Pointer[T any](p *T) *T { return (*T)(noescape(unsafe.Pointer(p))) }

// Slice is Pointer for a slice.
func Slice[T any](x []T) []T { return unsafe.Slice(Pointer(unsafe.SliceData(x)), len(x)) }
