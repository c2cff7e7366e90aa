package cuda

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"tandem/algo/unit"
)

// ErrNoDriver is wrapped by the error of Open on a machine without NVIDIA's driver or without a GPU.
var ErrNoDriver = errors.New("no GPU of NVIDIA can be used")

// ErrNotBuilt is wrapped by the error of Open in a program that cannot open libraries.
var ErrNotBuilt = errors.New("this program cannot use GPUs: build it without the tag static, for Linux " +
	"on amd64 or arm64")

// ErrOutOfMemory is wrapped by the errors of allocations that do not fit into the memory of a device.
var ErrOutOfMemory = errors.New("out of memory")

// Libraries names the shared libraries to open, by their file names or paths. An empty name stands for the
// usual names, the newest first that the driver supports.
type Libraries struct {
	Driver      string // libcuda.so.1
	Compiler    string // libnvrtc.so.13, libnvrtc.so.12, libnvrtc.so.11.2
	BLAS        string // libcublasLt.so.13, libcublasLt.so.12, libcublasLt.so.11
	Collectives string // libnccl.so.2
	// Cache is the folder that keeps compiled kernels: by default tandem/cuda in the user's cache folder.
	// None keeps nothing.
	Cache string
}

// None is the Cache that keeps nothing.
const None = "none"

// Info describes a device.
type Info struct {
	Ordinal        int // N in cuda:N
	Name           string
	UUID           string // as nvidia-smi prints it, without "GPU-"
	Memory         unit.Bytes
	Major, Minor   int // the compute capability
	Processors     int // streaming multiprocessors
	ClockKHz       int // 0 if the driver does not tell
	MemoryClockKHz int // 0 if the driver does not tell
	BusBits        int // width of the memory bus
	CacheBytes     int // last level; 0 if the driver does not tell
	SharedBytes    int // shared memory of a block, at most
}

// String returns a line such as "cuda:0 (NVIDIA A100, 40GB)".
func (i Info) String() string { return fmt.Sprintf("cuda:%d (%s, %v)", i.Ordinal, i.Name, i.Memory) }

// An Address is an address of memory of a device.
type Address uint64

// Add returns the address that lies bytes further.
func (a Address) Add(bytes int) Address { return a + Address(bytes) }

// Floats returns the address that lies n numbers of 4 bytes further.
func (a Address) Floats(n int) Address { return a + Address(4*n) }

// Memory is memory of a device.
type Memory struct {
	Address Address
	Bytes   int
}

// Size is the size of a grid in blocks, or of a block in threads. Zero counts as 1.
type Size struct{ X, Y, Z int }

// Arg is an argument of a kernel: the bits of a number or of an address.
type Arg uint64

// Int is an argument for a parameter of any integer type.
func Int(n int) Arg { return Arg(n) }

// Float is an argument for a parameter of type float.
func Float(x float32) Arg { return Arg(math.Float32bits(x)) }

// Double is an argument for a parameter of type double.
func Double(x float64) Arg { return Arg(math.Float64bits(x)) }

// Pointer is an argument for a parameter that is a pointer.
func Pointer(a Address) Arg { return Arg(a) }

// Bytes returns the memory of a slice as bytes. The type must have no pointers.
func Bytes[T float32 | float64 | int32 | uint32 | int64 | uint64 | uint16 | uint8](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*int(unsafe.Sizeof(s[0])))
}

// Error is a failed call of a library.
type Error struct {
	Device int    // −1 if the call concerns no device
	Call   string // the function, and what it was to do
	Code   int    // of the driver; of another library if negative
	Text   string // of the library
	Note   string // more facts, or empty
}

// Error returns a line such as "cuda:0: cuMemAlloc_v2 of 3.2GB: out of memory (1.1GB of 15.8GB free)".
func (e *Error) Error() string {
	text := e.Call + ": " + e.Text
	if e.Device >= 0 {
		text = fmt.Sprintf("cuda:%d: %s", e.Device, text)
	}
	if e.Note != "" {
		text += " (" + e.Note + ")"
	}
	return text
}

// Is reports whether the call failed for lack of memory, where that is asked.
func (e *Error) Is(target error) bool {
	return target == ErrOutOfMemory && e.Code == cudaErrorOutOfMemory
}

// pointer converts an address that C returned into a pointer. The garbage collector does not manage the
// memory.
func pointer(address uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

// text copies a C string, or returns "" for none.
func text(address uintptr) string {
	if address == 0 {
		return ""
	}
	start, length := pointer(address), 0
	for *(*byte)(unsafe.Add(start, length)) != 0 {
		length++
	}
	return string(unsafe.Slice((*byte)(start), length))
}

// cString returns text as C reads it.
func cString(s string) *byte {
	b := append([]byte(s), 0)
	return &b[0]
}
