//go:build !static && linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"os"
	"testing"
	"unsafe"
)

// TestWhatEndsACapture calls what another goroutine may call while a stream captures. The software GPU
// imitates the results of this test.
func TestWhatEndsACapture(t *testing.T) {
	if os.Getenv("TANDEM_TEST_GPU") != "1" {
		t.Skip("needs a GPU of NVIDIA: TANDEM_TEST_GPU=1")
	}
	driver, err := Open(Libraries{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := driver.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := d.NewStream()
	other, err1 := d.NewStream()
	kept, err2 := d.Alloc(64)
	freed, err3 := d.Alloc(1 << 20)
	pinned, err4 := d.AllocPinned(1 << 20)
	blas, err5 := d.NewBLAS()
	if err := errors.Join(err, err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
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
		callErr := <-done
		cleared := stream.Clear(kept.Address, 64)
		graph, err := stream.EndCapture()
		if (err != nil) != c.ends {
			t.Errorf("%s: %v; then %v; capture: %v; want an error: %v", c.name, callErr, cleared, err, c.ends)
		}
		if graph != nil {
			_ = graph.Close()
		}
	}
}
