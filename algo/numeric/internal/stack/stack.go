// Package stack keeps local variables on the stack that are passed to kernels. Kernels
// are called through function values, for which the compiler assumes that arguments
// escape: it would allocate every local variable to which an argument points.
package stack

import "unsafe"

// Pointer returns p, but hides from the compiler's escape analysis that the result points
// to the same variable. The function that gets the result must not keep it.
//
// While the address is a number, nothing may be called, since a call can move the stack.
// Under the race detector, only checks of pointers are.
//
//go:nocheckptr
func Pointer[T any](p *T) *T {
	address := uintptr(unsafe.Pointer(p))
	return (*T)(*(*unsafe.Pointer)(unsafe.Pointer(&address)))
}

// Slice is Pointer for a slice.
func Slice[T any](x []T) []T { return unsafe.Slice(Pointer(unsafe.SliceData(x)), len(x)) }
