//go:build !static && (linux || darwin) && arm64

package blas

// mixed is 0: there is no mixedCall for this architecture.
const mixed uintptr = 0
