package torch

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// memory is a file in memory that grows, for two processes to map.
type memory struct {
	file *os.File
	size int64
}

func newMemory() (*memory, error) {
	fd, err := unix.MemfdCreate("tandem-torch", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("torch: cannot create shared memory: %w", err)
	}
	return &memory{file: os.NewFile(uintptr(fd), "tandem-torch")}, nil
}

// grow adds room for a number of values at the end, and maps it. It is reserved, so that no access lacks it.
func (m *memory) grow(floats int) (offset int64, values []float32, err error) {
	page := int64(os.Getpagesize())
	offset, length := m.size, (4*int64(max(floats, 1))+page-1)/page*page
	for {
		if err = unix.Fallocate(int(m.file.Fd()), 0, offset, length); err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return 0, nil, fmt.Errorf("torch: no %d KiB of shared memory: %w", length>>10, err)
	}
	mapped, err := unix.Mmap(int(m.file.Fd()), offset, int(length), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED)
	if err != nil {
		return 0, nil, fmt.Errorf("torch: cannot map shared memory: %w", err)
	}
	m.size += length
	return offset, unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(mapped))), floats), nil
}
