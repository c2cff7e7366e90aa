package checkpoint

import (
	"os"

	"golang.org/x/sys/unix"
)

// startWriteback makes the kernel begin to write a part of a file to the disk, so that a later Sync has less
// to wait for. Not every file system can do that, and nothing depends on it.
func startWriteback(f *os.File, at, length int64) {
	_ = unix.SyncFileRange(int(f.Fd()), at, length, unix.SYNC_FILE_RANGE_WRITE)
}
