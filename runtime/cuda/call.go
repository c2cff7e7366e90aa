//go:build !static && linux && (amd64 || arm64)

package cuda

import (
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// canOpen reports whether this program can open libraries.
const canOpen = true

// structsOnStack reports whether the C calling convention copies a structure of more than 16 bytes to the
// stack, as on amd64. Otherwise it passes the address of a copy.
const structsOnStack = runtime.GOARCH == "amd64"

// openFile opens a shared library.
func openFile(name string) (uintptr, error) {
	runtime.LockOSThread() // C keeps the reason of a failure for the thread that failed
	defer runtime.UnlockOSThread()
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

// find returns the address of a function, or 0.
func find(library uintptr, name string) uintptr {
	address, err := purego.Dlsym(library, name)
	if err != nil {
		return 0
	}
	return address
}

// call calls a C function of integers and pointers. The directive keeps the memory that arguments point to
// alive, and on the heap, since stacks move.
//
//go:uintptrescapes
func call(function uintptr, arguments ...uintptr) uintptr {
	result, _, _ := purego.SyscallN(function, arguments...)
	return result
}

// fileOf returns the path of the library that contains a function, or "".
func fileOf(function uintptr) string {
	dladdr, err := purego.Dlsym(purego.RTLD_DEFAULT, "dladdr")
	if err != nil {
		return ""
	}
	// dlfcn.h: Dl_info.
	info := new(struct{ fname, fbase, sname, saddr uintptr })
	if int32(call(dladdr, function, uintptr(unsafe.Pointer(info)))) == 0 {
		return ""
	}
	return text(info.fname)
}
