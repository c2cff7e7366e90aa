package blas

import (
	"maps"
	"runtime"
	"slices"
	"strings"
)

// files lists the shared libraries of each name, the newest first, for Linux and macOS.
var files = map[string][]string{
	"openblas": {"libopenblas.so.0", "libopenblas.so", "libopenblas.dylib"},
	"onednn":   {"libdnnl.so.3", "libdnnl.so.2", "libdnnl.so", "libdnnl.dylib"},
	"mkl":      {"libmkl_rt.so.2", "libmkl_rt.so", "libmkl_rt.dylib"},
	"blis":     {"libblis.so.4", "libblis.so.3", "libblis.so", "libblis.dylib"},
}

// Names returns the names of the libraries that Open knows, sorted.
func Names() []string { return slices.Sorted(maps.Keys(files)) }

// isPath reports whether a name is the file name of a shared library rather than
// one of Names.
func isPath(name string) bool {
	return strings.Contains(name, "/") || strings.Contains(name, ".so") || strings.HasSuffix(name, ".dylib")
}

// candidates returns the files to try for a name.
func candidates(name string) []string {
	all, known := files[name]
	if !known {
		return []string{name}
	}
	return slices.DeleteFunc(slices.Clone(all), func(file string) bool {
		return strings.HasSuffix(file, ".dylib") != (runtime.GOOS == "darwin")
	})
}
