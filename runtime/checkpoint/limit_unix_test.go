//go:build unix

package checkpoint

import (
	"os/signal"
	"syscall"
	"testing"
)

// limitFiles lets no file of this process grow beyond a number of bytes.
func limitFiles(t *testing.T, bytes uint64) {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: bytes, Max: bytes}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
}
