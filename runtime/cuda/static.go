//go:build static || !linux || !(amd64 || arm64)

package cuda

// canOpen reports whether this program can open libraries.
const canOpen = false

const structsOnStack = false

// Open returns before any of these is called.

func openFile(string) (uintptr, error) { return 0, ErrNotBuilt }

func find(uintptr, string) uintptr { return 0 }

//go:uintptrescapes
func call(uintptr, ...uintptr) uintptr { panic(ErrNotBuilt) }

func fileOf(uintptr) string { return "" }
