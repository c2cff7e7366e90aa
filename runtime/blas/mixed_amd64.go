//go:build !static && (linux || darwin)

package blas

// mixed is the address of mixedCall, for C.
var mixed uintptr

// mixedCall is a C function of one argument, a *dnnlCall: it calls the function
// in it with the arguments in it. It stands between purego.SyscallN and oneDNN,
// because SyscallN cannot pass integers and floats to one function.
func mixedCall()

var _ = mixedCall // its only user is C
