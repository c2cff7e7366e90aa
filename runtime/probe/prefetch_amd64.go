package probe

import "unsafe"

// prefetch asks for a line without waiting for it.
//
//go:noescape
func prefetch(line unsafe.Pointer)
