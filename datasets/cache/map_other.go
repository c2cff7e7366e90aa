//go:build !unix

package cache

import (
	"os"
	"unsafe"
)

// mapFile reads a file into memory that is aligned as its columns are: this
// system has no mapping that writing to does not reach the file.
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
