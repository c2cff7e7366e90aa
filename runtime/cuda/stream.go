package cuda

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"
)

// Stream is a queue of work for a device. Work of one stream runs in order.
type Stream struct {
	device    *Device
	handle    uintptr
	capturing bool
}

// NewStream makes a stream.
func (d *Device) NewStream() (*Stream, error) {
	handle := new(uintptr)
	if err := d.call(&d.driver.cu.streamCreate, uintptr(unsafe.Pointer(handle)),
		streamNonBlocking); err != nil {
		return nil, err
	}
	return &Stream{device: d, handle: *handle}, nil
}

// Device returns the device of the stream.
func (s *Stream) Device() *Device { return s.device }

// Close frees the stream after its work.
func (s *Stream) Close() error {
	return s.device.call(&s.device.driver.cu.streamDestroy, s.handle)
}

// Sync waits for the work of the stream so far, and returns the first error of work on the device.
func (s *Stream) Sync() error {
	return s.device.call(&s.device.driver.cu.streamSynchronize, s.handle)
}

// CopyIn copies from the host to the device. Src must not change before the stream has passed the copy, and
// must be reachable until then. Only from pinned memory does the copy run beside the caller.
func (s *Stream) CopyIn(dst Address, src []byte) error {
	if len(src) == 0 {
		return nil
	}
	return s.device.call(&s.device.driver.cu.memcpyHtoD, uintptr(dst), uintptr(unsafe.Pointer(&src[0])),
		uintptr(len(src)), s.handle)
}

// CopyOut copies from the device to the host. Dst must not be used before the stream has passed the copy,
// and must be reachable until then. Only to pinned memory does the copy run beside the caller.
func (s *Stream) CopyOut(dst []byte, src Address) error {
	if len(dst) == 0 {
		return nil
	}
	return s.device.call(&s.device.driver.cu.memcpyDtoH, uintptr(unsafe.Pointer(&dst[0])), uintptr(src),
		uintptr(len(dst)), s.handle)
}

// CopyDevice copies within the memory of the device. The ranges must not overlap.
func (s *Stream) CopyDevice(dst, src Address, bytes int) error {
	if bytes == 0 {
		return nil
	}
	return s.device.call(&s.device.driver.cu.memcpyDtoD, uintptr(dst), uintptr(src), uintptr(bytes), s.handle)
}

// Clear sets memory of the device to zero.
func (s *Stream) Clear(dst Address, bytes int) error {
	if bytes == 0 {
		return nil
	}
	return s.device.call(&s.device.driver.cu.memsetD8, uintptr(dst), 0, uintptr(bytes), s.handle)
}

// Record records the event: it is reached when the work of the stream so far is done.
func (s *Stream) Record(e *Event) error {
	return s.device.call(&s.device.driver.cu.eventRecord, e.handle, s.handle)
}

// Wait lets the later work of the stream wait until the event is reached where it was recorded last.
func (s *Stream) Wait(e *Event) error {
	return s.device.call(&s.device.driver.cu.streamWaitEvent, s.handle, e.handle, 0)
}

// mostArguments is the number of arguments that a kernel can have here.
const mostArguments = 32

// launch holds the arguments of one call of cuLaunchKernel.
type launch struct {
	values    [mostArguments]Arg
	addresses [mostArguments]uintptr // of the values
	arguments [11]uintptr
}

var idleLaunches = sync.Pool{New: func() any {
	l := new(launch)
	for i := range l.values {
		l.addresses[i] = uintptr(unsafe.Pointer(&l.values[i]))
	}
	return l
}}

// Launch starts a kernel with a grid of blocks, the bytes of dynamic shared memory of a block, and its
// arguments, whose types must be those of the parameters. It allocates nothing.
func (s *Stream) Launch(f *Function, grid, block Size, shared int, args ...Arg) error {
	if len(args) > mostArguments || (f.parameters >= 0 && len(args) != f.parameters) {
		return fmt.Errorf("cuda:%d: kernel %s takes %d arguments, got %d", s.device.info.Ordinal, f.name,
			f.parameters, len(args))
	}
	l := idleLaunches.Get().(*launch)
	copy(l.values[:], args)
	l.arguments = [11]uintptr{f.handle,
		uintptr(max(grid.X, 1)), uintptr(max(grid.Y, 1)), uintptr(max(grid.Z, 1)),
		uintptr(max(block.X, 1)), uintptr(max(block.Y, 1)), uintptr(max(block.Z, 1)),
		uintptr(shared), s.handle, uintptr(unsafe.Pointer(&l.addresses[0])), 0}
	err := s.device.call(&s.device.driver.cu.launchKernel, l.arguments[:]...)
	runtime.KeepAlive(l)
	idleLaunches.Put(l)
	if e, ok := err.(*Error); ok {
		e.Call = fmt.Sprintf("launch of kernel %s, grid %v, block %v, %d B shared", f.name, grid, block,
			shared)
	}
	return err
}

// Graph is captured work that can be launched again and again.
type Graph struct {
	device *Device
	handle uintptr
}

// BeginCapture begins to collect the work of the stream in a graph, instead of doing it. Other streams join
// the capture when they wait for an event that was recorded in it, and must be joined in the same way
// before its end. Between, no method may wait for a stream of the capture. Device.Sync and the Close of
// devices and products wait until EndCapture, so the goroutine that captures must not call them, nor begin
// another capture.
func (s *Stream) BeginCapture() error {
	captures.RLock()
	err := s.device.call(&s.device.driver.cu.streamBeginCapture, s.handle, streamCaptureModeRelaxed)
	if s.capturing = err == nil; err != nil {
		captures.RUnlock()
	}
	return err
}

// EndCapture returns the work since BeginCapture. Addresses and other arguments keep their values, and the
// memory must live as long as the graph.
func (s *Stream) EndCapture() (*Graph, error) {
	cu := &s.device.driver.cu
	captured, handle := new(uintptr), new(uintptr)
	err := s.device.call(&cu.streamEndCapture, s.handle, uintptr(unsafe.Pointer(captured)))
	if s.capturing {
		s.capturing = false
		captures.RUnlock()
	}
	if err != nil {
		return nil, err
	}
	err = s.device.call(&cu.graphInstantiate, uintptr(unsafe.Pointer(handle)), *captured, 0)
	if freed := s.device.call(&cu.graphDestroy, *captured); err == nil {
		err = freed
	}
	if err != nil {
		return nil, err
	}
	return &Graph{device: s.device, handle: *handle}, nil
}

// LaunchGraph starts the work of a graph.
func (s *Stream) LaunchGraph(g *Graph) error {
	return s.device.call(&s.device.driver.cu.graphLaunch, g.handle, s.handle)
}

// Close frees the graph. It must not run.
func (g *Graph) Close() error {
	return g.device.call(&g.device.driver.cu.graphExecDestroy, g.handle)
}
