//go:build !linux

package ring

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// errUnsupported says that there are no rings here.
var errUnsupported = fmt.Errorf("shared memory between processes: %w", errors.ErrUnsupported)

func create(int) (*Writer, error) { return nil, errUnsupported }

func open(string) (*Reader, error) { return nil, errUnsupported }

func unmap([]byte) {} // nothing was mapped

func futexWait(*atomic.Uint32, uint32, time.Duration) {} // as above

func futexWake(*atomic.Uint32) {} // as above
