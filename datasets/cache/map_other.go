//go:build !unix

package cache

import (
	"os"
	"unsafe"
)

// mapFile reads a file into memory with the alignment of its columns. Only Unix systems have a
// mapping that protects the file from writes.
func mapFile(path string) (data []byte, release func(), err error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	buffer := make([]byte, len(file)+alignment)
	shift := (alignment - int(uintptr(unsafe.Pointer(&buffer[0]))%alignment)) % alignment
	data = buffer[shift : shift+len(file)]
	copy(data, file)
	return data, func() {}, nil
}
