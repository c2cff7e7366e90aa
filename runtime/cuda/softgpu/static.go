//go:build static || !linux || !(amd64 || arm64)

package softgpu

import (
	"errors"
	"testing"
)

const supported = false

// lock is not called: nothing is compiled.
func lock(string) (unlock func() error, err error) { return nil, errors.ErrUnsupported }

// Set skips the test: this program cannot open libraries.
func Set(t testing.TB, name, value string) {
	t.Helper()
	Folder(t)
}

// Sent skips the test: this program cannot open libraries.
func Sent(t testing.TB) int64 {
	t.Helper()
	Folder(t)
	return 0
}

// Moved is how often a kernel has run, and the bytes of device memory that it has read and written.
type Moved struct{ Launches, Read, Written int64 }

// MovedBy skips the test: this program cannot open libraries.
func MovedBy(t testing.TB, kernel string) Moved {
	t.Helper()
	Folder(t)
	return Moved{}
}

// Ran skips the test: this program cannot open libraries.
func Ran(t testing.TB, kernel string) int64 {
	t.Helper()
	Folder(t)
	return 0
}
