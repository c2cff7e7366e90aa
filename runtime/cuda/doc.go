// Package cuda reaches NVIDIA's GPUs through four libraries: the driver, NVRTC for compilation, cuBLASLt for
// matrix products, and NCCL for reductions between GPUs. The libraries are opened while the program runs and
// called without cgo, through purego.
//
//	driver, err := cuda.Open(cuda.Libraries{})
//	device, err := driver.Open(0)
//	module, err := device.Compile("scale.cu", source)
//	kernel, err := module.Function("scale")
//	stream, err := device.NewStream()
//	memory, err := device.Alloc(4 * 10240)
//	err = stream.Launch(kernel, cuda.Size{X: 40}, cuda.Size{X: 256}, 0, cuda.Pointer(memory.Address))
//	err = stream.Sync()
//
// Nothing is opened before Open is called, and only libcuda is opened then: the other libraries are opened
// when they are used first. The methods of a Device and of what belongs to it may be called from any
// goroutine; each makes the device current on its thread. Work of one stream runs in order, work of different
// streams in any order that events do not forbid.
//
// A program that is built with the tag "static", or for another system than Linux on amd64 or arm64, contains
// this package without purego: Open returns ErrNotBuilt.
//
// Package softgpu has a GPU in software for tests.
//
// # Captures
//
// A call that waits for the whole device invalidates a recording of a graph that is in progress. Such a call
// is cublasLtDestroy in the clean-up of an earlier training. A lock (captures) keeps the two apart.
package cuda
