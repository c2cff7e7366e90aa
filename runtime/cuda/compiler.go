package cuda

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unsafe"
)

// Compiler is NVRTC, which compiles CUDA C while the program runs. It needs neither a driver nor a GPU.
type Compiler struct {
	version       int // as of the driver
	architectures []int

	getErrorString, getVersion, getNumSupportedArchs, getSupportedArchs entry
	createProgram, compileProgram, destroyProgram                       entry
	getCUBINSize, getCUBIN, getPTXSize, getPTX                          entry
	getProgramLogSize, getProgramLog                                    entry
}

// OpenCompiler opens the compiler alone. Devices open it by themselves.
func OpenCompiler(libraries Libraries) (*Compiler, error) {
	if !canOpen {
		return nil, ErrNotBuilt
	}
	const any = 1000 // no driver limits the version
	return openCompiler(libraries, any)
}

// openCompiler opens the compiler for a driver of a major version.
func openCompiler(libraries Libraries, major int) (*Compiler, error) {
	c := new(Compiler)
	err := load("the CUDA compiler, NVRTC", candidates(libraries.Compiler, major, "libnvrtc.so.13",
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
	version, count := new([2]int32), new(int32)
	err = c.check(&c.getVersion, uintptr(unsafe.Pointer(&version[0])), uintptr(unsafe.Pointer(&version[1])))
	if err == nil {
		err = c.check(&c.getNumSupportedArchs, uintptr(unsafe.Pointer(count)))
	}
	if err != nil {
		return nil, err
	}
	c.version = int(version[0])*1000 + int(version[1])*10
	all := make([]int32, *count+1)
	if err := c.check(&c.getSupportedArchs, uintptr(unsafe.Pointer(&all[0]))); err != nil {
		return nil, err
	}
	for _, architecture := range all[:*count] {
		c.architectures = append(c.architectures, int(architecture))
	}
	slices.Sort(c.architectures)
	return c, nil
}

// Version returns the version of CUDA that the compiler belongs to, such as 12.4.
func (c *Compiler) Version() string { return versionText(c.version) }

// Architectures returns the compute capabilities that the compiler knows, ten times the major plus the
// minor number, in ascending order.
func (c *Compiler) Architectures() []int { return slices.Clone(c.architectures) }

//go:uintptrescapes
func (c *Compiler) check(e *entry, arguments ...uintptr) error {
	code := codeOf(call(e.address, arguments...))
	if code == 0 {
		return nil
	}
	said := text(call(c.getErrorString.address, uintptr(code)))
	return &Error{Device: -1, Call: e.name, Code: -code, Text: said}
}

// target returns the architecture to compile for: machine code of the device, or PTX, which the driver
// translates, for a device that is newer than the compiler.
func (c *Compiler) target(info Info) (string, error) {
	wanted := info.Major*10 + info.Minor
	if slices.Contains(c.architectures, wanted) {
		return fmt.Sprintf("sm_%d", wanted), nil
	}
	for _, architecture := range slices.Backward(c.architectures) {
		if architecture < wanted {
			return fmt.Sprintf("compute_%d", architecture), nil
		}
	}
	return "", fmt.Errorf("%v has compute capability %d.%d, which the CUDA compiler %s no longer supports: "+
		"install an older one", info, info.Major, info.Minor, c.Version())
}

// Compile compiles a source for an architecture: to machine code for sm_NN, to PTX for compute_NN. The log
// is what the compiler says, also without an error, whose text contains it. Name is the file name there.
func (c *Compiler) Compile(name, source, architecture string, options ...string) (image []byte, log string,
	err error) {
	program := new(uintptr)
	err = c.check(&c.createProgram, uintptr(unsafe.Pointer(program)),
		uintptr(unsafe.Pointer(cString(source))),
		uintptr(unsafe.Pointer(cString(name))), 0, 0, 0)
	if err != nil {
		return nil, "", err
	}
	defer call(c.destroyProgram.address, uintptr(unsafe.Pointer(program)))
	var texts []*byte // visible to the garbage collector
	for _, option := range append([]string{"--gpu-architecture=" + architecture}, options...) {
		texts = append(texts, cString(option))
	}
	err = c.check(&c.compileProgram, *program, uintptr(len(texts)), uintptr(unsafe.Pointer(&texts[0])))
	runtime.KeepAlive(texts)
	log = c.log(*program)
	if err != nil {
		return nil, log, fmt.Errorf("%s: %w\n%s", name, err, log)
	}
	sizeOf, get := &c.getPTXSize, &c.getPTX
	if strings.HasPrefix(architecture, "sm_") {
		sizeOf, get = &c.getCUBINSize, &c.getCUBIN
	}
	size := new(uintptr)
	if err := c.check(sizeOf, *program, uintptr(unsafe.Pointer(size))); err != nil {
		return nil, log, err
	}
	image = make([]byte, *size+1)
	err = c.check(get, *program, uintptr(unsafe.Pointer(&image[0])))
	return image[:*size], log, err
}

func (c *Compiler) log(program uintptr) string {
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
