//go:build unix

package cache

import (
	"os"
	"syscall"
)

// mapFile maps a file so that writing to the bytes does not change it. Release unmaps it.
func mapFile(path string) (data []byte, release func(), err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.Size() == 0 { // cannot be mapped
		return nil, func() {}, nil
	}
	data, err = syscall.Mmap(int(file.Fd()), 0, int(info.Size()), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE)
	if err != nil {
		return nil, nil, &os.PathError{Op: "mmap", Path: path, Err: err}
	}
	return data, func() { syscall.Munmap(data) }, nil
}
