//go:build !amd64

package probe

import "unsafe"

// prefetch does nothing: the line is read when it is needed.
func prefetch(unsafe.Pointer) {}
