//go:build !linux

package ring

import (
	"errors"
	"fmt"
)

// errUnsupported says that there are no rings here.
var errUnsupported = fmt.Errorf("shared memory between processes: %w", errors.ErrUnsupported)

func create(int) (*Writer, error) { return nil, errUnsupported }

func open(string) (*Reader, error) { return nil, errUnsupported }

func unmap([]byte) {} // nothing was mapped

// pipe and pipeName are never used.
type (
	pipe     struct{}
	pipeName struct{ fd, inode uint64 }
)

func (*pipe) wait()      {}
func (*pipe) write()     {}
func (*pipe) interrupt() {}
func (*pipe) close()     {}
