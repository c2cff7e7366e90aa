//go:build !static && linux && (amd64 || arm64)

package softgpu

import (
	"os"
	"syscall"
	"testing"

	"github.com/ebitengine/purego"
)

const supported = true

// lock waits until no other process holds the lock of a file, and holds it until unlock.
func lock(name string) (unlock func() error, err error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		file.Close()
		return nil, err
	}
	return file.Close, nil
}

// Set changes a setting of the software GPU in this process until the end of the test. Tests that set the
// same one must not run at the same time. On hardware, whose order of work no seed chooses, it leaves the
// seed out, and skips the test of any other setting.
func Set(t testing.TB, name, value string) {
	t.Helper()
	if onHardware() && name == "TANDEM_SOFTGPU_SEED" {
		return
	}
	var set func(name, value string)
	var get func(name string) string
	register(t, &set, "softgpuSet")
	register(t, &get, "softgpuGet")
	before := get(name)
	set(name, value)
	t.Cleanup(func() { set(name, before) })
}

// Sent returns the bytes that the ranks of this process have sent by sends of NCCL so far, to each other and
// to themselves. It skips the test on hardware.
func Sent(t testing.TB) int64 {
	t.Helper()
	var sent func() int64
	register(t, &sent, "softgpuSent")
	return sent()
}

// Ran returns how often a kernel has run in this process so far, also as part of graphs. It skips the test on
// hardware.
func Ran(t testing.TB, kernel string) int64 {
	t.Helper()
	var ran func(kernel string) int64
	register(t, &ran, "softgpuRan")
	return ran(kernel)
}

// Moved is how often a kernel has run, and the bytes of device memory that it has read and written.
type Moved struct{ Launches, Read, Written int64 }

// MovedBy returns what launches of a kernel, or of "product", have moved in this process so far while
// TANDEM_SOFTGPU_MOVED was set: what each has read and written, every page once. It skips the test on
// hardware.
func MovedBy(t testing.TB, kernel string) (m Moved) {
	t.Helper()
	var moved func(kernel string, launches, read, written *int64)
	register(t, &moved, "softgpuMoved")
	moved(kernel, &m.Launches, &m.Read, &m.Written)
	return m
}

// register finds a function of the library.
func register(t testing.TB, function any, name string) {
	t.Helper()
	Only(t)
	library, err := purego.Dlopen(Libraries(t).Driver, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		t.Fatal(err)
	}
	purego.RegisterLibFunc(function, library, name)
}
