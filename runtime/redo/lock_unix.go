//go:build unix

package redo

import (
	"os"
	"syscall"
)

// lock keeps other processes from a file until it is closed. An earlier process that hangs has it still, and
// would write to it when it goes on.
func lock(file *os.File) error { return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
