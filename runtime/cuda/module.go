package cuda

import (
	"fmt"
	"unsafe"
)

// Module is a compiled source on a device.
type Module struct {
	device *Device
	name   string
	handle uintptr
}

// Compile compiles kernels in CUDA C for the device and loads them. Name is the file name in messages of
// the compiler, which are part of the error. Results are kept on disk.
func (d *Device) Compile(name, source string, options ...string) (*Module, error) {
	c, err := d.driver.compiler()
	if err != nil {
		return nil, err
	}
	architecture, err := c.target(d.info)
	if err != nil {
		return nil, err
	}
	key := cacheKey(d.info.Name, c.Version(), architecture, source, options)
	if image, ok := d.driver.cached(key); ok {
		// An image that cannot be loaded is from another software GPU, or the driver has changed.
		if m, err := d.load(name, image); err == nil {
			return m, nil
		}
	}
	image, _, err := c.Compile(name, source, architecture, options...)
	if err != nil {
		return nil, err
	}
	m, err := d.load(name, image)
	if err == nil {
		d.driver.keep(key, image)
	}
	return m, err
}

func (d *Device) load(name string, image []byte) (*Module, error) {
	handle := new(uintptr)
	image = append(image, 0) // PTX is a C string
	err := d.call(&d.driver.cu.moduleLoadData, uintptr(unsafe.Pointer(handle)),
		uintptr(unsafe.Pointer(&image[0])))
	if e, ok := err.(*Error); ok {
		e.Call = "loading of the kernels of " + name
		return nil, e
	}
	return &Module{device: d, name: name, handle: *handle}, err
}

// Close unloads the module. Its kernels must not run.
func (m *Module) Close() error { return m.device.call(&m.device.driver.cu.moduleUnload, m.handle) }

// Function is a kernel.
type Function struct {
	device     *Device
	name       string
	handle     uintptr
	parameters int // −1 if the driver does not tell
}

// Function returns a kernel by its name. The kernel must be declared extern "C".
func (m *Module) Function(name string) (*Function, error) {
	handle := new(uintptr)
	cu := &m.device.driver.cu
	err := m.device.call(&cu.moduleGetFunction, uintptr(unsafe.Pointer(handle)), m.handle,
		uintptr(unsafe.Pointer(cString(name))))
	if err != nil {
		if e, ok := err.(*Error); ok {
			e.Call = fmt.Sprintf("kernel %s of %s", name, m.name)
		}
		return nil, err
	}
	f := &Function{device: m.device, name: name, handle: *handle, parameters: -1}
	if cu.funcGetParamInfo.address == 0 {
		return f, nil
	}
	sizes := new([2]uintptr) // the offset and size of a parameter
	for n := 0; ; n++ {
		err := m.device.call(&cu.funcGetParamInfo, *handle, uintptr(n), uintptr(unsafe.Pointer(&sizes[0])),
			uintptr(unsafe.Pointer(&sizes[1])))
		if e, ok := err.(*Error); ok && e.Code == cudaErrorInvalidValue {
			f.parameters = n
			return f, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// AllowShared lets launches have up to a number of bytes of dynamic shared memory, where that is more than
// the 48 KiB that every device has.
func (f *Function) AllowShared(bytes int) error {
	err := f.device.call(&f.device.driver.cu.funcSetAttribute, f.handle, funcMaxDynamicSharedBytes,
		uintptr(bytes))
	if e, ok := err.(*Error); ok {
		e.Call = fmt.Sprintf("%d B of shared memory for kernel %s", bytes, f.name)
		e.Note = fmt.Sprintf("the device has %d B", f.device.info.SharedBytes)
	}
	return err
}
