package cuda

import (
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"tandem/algo/unit"
)

// Device is an open GPU.
type Device struct {
	driver  *Driver
	info    Info
	handle  uintptr
	context [1]uintptr // the arguments of cuCtxSetCurrent
}

// Info describes the device.
func (d *Device) Info() Info { return d.info }

// call makes the device current on this thread and calls a function of the driver.
//
//go:uintptrescapes
func (d *Device) call(e *entry, arguments ...uintptr) error {
	code, err := d.callOther(e, arguments...)
	if err == nil && code != cudaSuccess {
		return d.driver.failure(d.info.Ordinal, e.name, code)
	}
	return err
}

// callOther makes the device current on this thread and calls a function of any library. It returns the
// status of the function. The error is that of the driver.
//
//go:uintptrescapes
func (d *Device) callOther(e *entry, arguments ...uintptr) (int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if code := codeOf(call(d.driver.cu.ctxSetCurrent.address, d.context[:]...)); code != cudaSuccess {
		return 0, d.driver.failure(d.info.Ordinal, d.driver.cu.ctxSetCurrent.name, code)
	}
	return codeOf(call(e.address, arguments...)), nil
}

// captures is held for reading while a stream captures. A call that waits for the whole device, as
// cuCtxSynchronize and cublasLtDestroy do, invalidates a capture in progress, also from another goroutine,
// such as one that frees the replica of an earlier training: it takes turns with captures.
var captures sync.RWMutex

// Close ends the use of the device. What was made on it must be closed before.
func (d *Device) Close() error {
	captures.Lock()
	defer captures.Unlock()
	return d.driver.check(d.info.Ordinal, &d.driver.cu.primaryCtxRelease, d.handle)
}

// Sync waits for all work of the device.
func (d *Device) Sync() error {
	captures.Lock()
	defer captures.Unlock()
	return d.call(&d.driver.cu.ctxSynchronize)
}

// FreeMemory returns how much memory of the device is free, and all its memory.
func (d *Device) FreeMemory() (free, total unit.Bytes, err error) {
	sizes := new([2]uintptr)
	err = d.call(&d.driver.cu.memGetInfo, uintptr(unsafe.Pointer(&sizes[0])),
		uintptr(unsafe.Pointer(&sizes[1])))
	return unit.Bytes(sizes[0]), unit.Bytes(sizes[1]), err
}

// Alloc allocates memory of the device. Its contents are undefined, and its address is a multiple of 16 at
// least.
func (d *Device) Alloc(bytes int) (Memory, error) {
	address := new(uint64)
	if err := d.call(&d.driver.cu.memAlloc, uintptr(unsafe.Pointer(address)), uintptr(bytes)); err != nil {
		e, ok := err.(*Error)
		if !ok {
			return Memory{}, err
		}
		e.Call = fmt.Sprintf("%s of %v", e.Call, unit.Bytes(bytes))
		if free, total, err := d.FreeMemory(); err == nil {
			e.Note = fmt.Sprintf("%v of %v free", free, total)
		}
		return Memory{}, e
	}
	return Memory{Address: Address(*address), Bytes: bytes}, nil
}

// Free frees memory of Alloc, after the work of all streams so far.
func (d *Device) Free(m Memory) error { return d.call(&d.driver.cu.memFree, uintptr(m.Address)) }

// Pinned is memory of the host that the device can read and write by itself, so that copies run beside
// other work.
type Pinned struct {
	device *Device
	bytes  []byte
}

// AllocPinned allocates pinned memory.
func (d *Device) AllocPinned(bytes int) (*Pinned, error) {
	address := new(uintptr)
	err := d.call(&d.driver.cu.memHostAlloc, uintptr(unsafe.Pointer(address)), uintptr(bytes),
		memHostAllocPortable)
	if err != nil {
		if e, ok := err.(*Error); ok {
			e.Call = fmt.Sprintf("%s of %v of host memory", e.Call, unit.Bytes(bytes))
		}
		return nil, err
	}
	return &Pinned{device: d, bytes: unsafe.Slice((*byte)(pointer(*address)), bytes)}, nil
}

// Bytes returns the memory. It must not be used after Free.
func (p *Pinned) Bytes() []byte { return p.bytes }

// Floats returns the memory as numbers. It must not be used after Free.
func (p *Pinned) Floats() []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(&p.bytes[0])), len(p.bytes)/4)
}

// Free frees the memory, after the work of all streams so far.
func (p *Pinned) Free() error {
	if p.bytes == nil {
		return nil
	}
	address := uintptr(unsafe.Pointer(&p.bytes[0]))
	p.bytes = nil
	return p.device.call(&p.device.driver.cu.memFreeHost, address)
}

// Event is a point in the work of a stream, for which other streams and the host can wait.
type Event struct {
	device *Device
	handle uintptr
}

// NewEvent makes an event.
func (d *Device) NewEvent() (*Event, error) { return d.newEvent(eventDisableTiming) }

// NewTimer makes an event that also records the time.
func (d *Device) NewTimer() (*Event, error) { return d.newEvent(eventDefault) }

func (d *Device) newEvent(flags uintptr) (*Event, error) {
	handle := new(uintptr)
	if err := d.call(&d.driver.cu.eventCreate, uintptr(unsafe.Pointer(handle)), flags); err != nil {
		return nil, err
	}
	return &Event{device: d, handle: *handle}, nil
}

// Sync waits until the event is reached where it was recorded last. It returns at once if it was not
// recorded.
func (e *Event) Sync() error {
	return e.device.call(&e.device.driver.cu.eventSynchronize, e.handle)
}

// Since returns the time between two reached events of NewTimer, as the device measures it.
func (e *Event) Since(start *Event) (time.Duration, error) {
	milliseconds := new(float32)
	err := e.device.call(&e.device.driver.cu.eventElapsedTime, uintptr(unsafe.Pointer(milliseconds)),
		start.handle, e.handle)
	return time.Duration(float64(*milliseconds) * float64(time.Millisecond)), err
}

// Close frees the event.
func (e *Event) Close() error { return e.device.call(&e.device.driver.cu.eventDestroy, e.handle) }
