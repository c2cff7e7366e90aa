//go:build !static && linux && (amd64 || arm64)

package cuda

import (
	"os"
	"testing"
	"unsafe"
)

// TestWhatEndsACapture calls what another goroutine may call while a stream captures. The software GPU does
// what this test finds on hardware.
func TestWhatEndsACapture(t *testing.T) {
	if os.Getenv("TANDEM_TEST_GPU") != "1" {
		t.Skip("needs a GPU of NVIDIA: TANDEM_TEST_GPU=1")
	}
	driver := get(Open(Libraries{}))(t)
	d := get(driver.Open(0))(t)
	stream, other := get(d.NewStream())(t), get(d.NewStream())(t)
	kept, freed, pinned := get(d.Alloc(64))(t), get(d.Alloc(1<<20))(t), get(d.AllocPinned(1<<20))(t)
	blas := get(d.NewBLAS())(t)
	cu, address := &driver.cu, new(uint64)
	for _, c := range []struct {
		name string
		ends bool
		do   func() error
	}{
		{"allocate", false, func() error {
			return d.call(&cu.memAlloc, uintptr(unsafe.Pointer(address)), 1<<20)
		}},
		{"free", false, func() error { return d.call(&cu.memFree, uintptr(freed.Address)) }},
		{"pin", false, func() error {
			return d.call(&cu.memHostAlloc, uintptr(unsafe.Pointer(address)), 1<<20, memHostAllocPortable)
		}},
		{"free pinned", false, pinned.Free},
		{"wait for another stream", false, other.Sync},
		{"close another stream", false, other.Close},
		{"wait for the device", true, func() error { return d.call(&cu.ctxSynchronize) }},
		{"close products", true, func() error { return blas.call(&blas.lt.destroy, blas.handle) }},
	} {
		if err := stream.BeginCapture(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- c.do() }()
		said := <-done
		cleared := stream.Clear(kept.Address, 64)
		graph, err := stream.EndCapture()
		if (err != nil) != c.ends {
			t.Errorf("%s: %v; then %v; capture: %v; want an error: %v", c.name, said, cleared, err, c.ends)
		}
		if graph != nil {
			_ = graph.Close()
		}
	}
}

// get returns a value, and fails the test on an error.
func get[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
