//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package checkpoint

import (
	"os"
	"syscall"
)

// lockFolder locks an open folder, unless another process has locked it. The lock ends with the process.
func lockFolder(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
