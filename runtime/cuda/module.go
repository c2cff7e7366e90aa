package cuda

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unsafe"
)

// compiler is NVRTC.
type compiler struct {
	version int // as of the driver
	archs   []int

	getErrorString, getVersion, getNumSupportedArchs, getSupportedArchs entry
	createProgram, compileProgram, destroyProgram                       entry
	getCUBINSize, getCUBIN, getPTXSize, getPTX                          entry
	getProgramLogSize, getProgramLog                                    entry
}

func (d *Driver) openCompiler() (*compiler, error) {
	c := new(compiler)
	err := load("the CUDA compiler, NVRTC", candidates(d.libraries.Compiler, d.version/1000, "libnvrtc.so.13",
		"libnvrtc.so.12", "libnvrtc.so.11.2"), []wanted{
		{&c.getErrorString, "nvrtcGetErrorString", false},
		{&c.getVersion, "nvrtcVersion", false},
		{&c.getNumSupportedArchs, "nvrtcGetNumSupportedArchs", false}, // since CUDA 11.2
		{&c.getSupportedArchs, "nvrtcGetSupportedArchs", false},       // since CUDA 11.2
		{&c.createProgram, "nvrtcCreateProgram", false},
		{&c.compileProgram, "nvrtcCompileProgram", false},
		{&c.destroyProgram, "nvrtcDestroyProgram", false},
		{&c.getCUBINSize, "nvrtcGetCUBINSize", false}, // since CUDA 11.1
		{&c.getCUBIN, "nvrtcGetCUBIN", false},
		{&c.getPTXSize, "nvrtcGetPTXSize", false},
		{&c.getPTX, "nvrtcGetPTX", false},
		{&c.getProgramLogSize, "nvrtcGetProgramLogSize", false},
		{&c.getProgramLog, "nvrtcGetProgramLog", false},
	})
	if err != nil {
		return nil, err
	}
	numbers := new([3]int32)
	if err := c.check(&c.getVersion, uintptr(unsafe.Pointer(&numbers[0])),
		uintptr(unsafe.Pointer(&numbers[1]))); err != nil {
		return nil, err
	}
	c.version = int(numbers[0])*1000 + int(numbers[1])*10
	if err := c.check(&c.getNumSupportedArchs, uintptr(unsafe.Pointer(&numbers[2]))); err != nil {
		return nil, err
	}
	archs := make([]int32, numbers[2]+1)
	if err := c.check(&c.getSupportedArchs, uintptr(unsafe.Pointer(&archs[0]))); err != nil {
		return nil, err
	}
	for _, arch := range archs[:numbers[2]] {
		c.archs = append(c.archs, int(arch))
	}
	slices.Sort(c.archs)
	return c, nil
}

//go:uintptrescapes
func (c *compiler) check(e *entry, arguments ...uintptr) error {
	code := codeOf(call(e.address, arguments...))
	if code == 0 {
		return nil
	}
	return &Error{Device: -1, Call: e.name, Code: -code, Text: text(call(c.getErrorString.address,
		uintptr(code)))}
}

// target returns the architecture to compile for, and whether the result is machine code for the device.
// For a device that is newer than the compiler, it is PTX, which the driver translates.
func (c *compiler) target(info Info) (arch string, binary bool, err error) {
	wanted := info.Major*10 + info.Minor
	if slices.Contains(c.archs, wanted) {
		return fmt.Sprintf("sm_%d", wanted), true, nil
	}
	for _, arch := range slices.Backward(c.archs) {
		if arch < wanted {
			return fmt.Sprintf("compute_%d", arch), false, nil
		}
	}
	return "", false,
		fmt.Errorf("%v has compute capability %d.%d, which the CUDA compiler %s no longer supports: "+
			"install an older one", info, info.Major, info.Minor, versionText(c.version))
}

// compile compiles a source. The error contains what the compiler said.
func (c *compiler) compile(name, source, arch string, binary bool, options []string) ([]byte, error) {
	program := new(uintptr)
	if err := c.check(&c.createProgram, uintptr(unsafe.Pointer(program)),
		uintptr(unsafe.Pointer(cString(source))),
		uintptr(unsafe.Pointer(cString(name))), 0, 0, 0); err != nil {
		return nil, err
	}
	defer call(c.destroyProgram.address, uintptr(unsafe.Pointer(program)))
	var texts []*byte // visible to the garbage collector
	for _, option := range append([]string{"--gpu-architecture=" + arch}, options...) {
		texts = append(texts, cString(option))
	}
	err := c.check(&c.compileProgram, *program, uintptr(len(texts)), uintptr(unsafe.Pointer(&texts[0])))
	runtime.KeepAlive(texts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", name, err, c.log(*program))
	}
	sizeOf, get := &c.getPTXSize, &c.getPTX
	if binary {
		sizeOf, get = &c.getCUBINSize, &c.getCUBIN
	}
	size := new(uintptr)
	if err := c.check(sizeOf, *program, uintptr(unsafe.Pointer(size))); err != nil {
		return nil, err
	}
	image := make([]byte, *size+1)
	if err := c.check(get, *program, uintptr(unsafe.Pointer(&image[0]))); err != nil {
		return nil, err
	}
	return image[:*size], nil
}

func (c *compiler) log(program uintptr) string {
	size := new(uintptr)
	if c.check(&c.getProgramLogSize, program, uintptr(unsafe.Pointer(size))) != nil || *size == 0 {
		return ""
	}
	log := make([]byte, *size+1)
	if c.check(&c.getProgramLog, program, uintptr(unsafe.Pointer(&log[0]))) != nil {
		return ""
	}
	return strings.TrimSpace(strings.TrimRight(string(log), "\x00"))
}

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
	arch, binary, err := c.target(d.info)
	if err != nil {
		return nil, err
	}
	key := cacheKey(d.info.Name, versionText(c.version), arch, source, options)
	if image, ok := d.driver.cached(key); ok {
		// An image that cannot be loaded is from another software GPU, or the driver has changed.
		if m, err := d.load(name, image); err == nil {
			return m, nil
		}
	}
	image, err := c.compile(name, source, arch, binary, options)
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
