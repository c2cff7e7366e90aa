package cuda

// The constants and structures of CUDA's headers that this package uses, with their names there. They are
// part of the binary interface, so they are equal in all versions of a major version.

// cuda.h: CUresult.
const (
	cudaSuccess           = 0   // CUDA_SUCCESS
	cudaErrorInvalidValue = 1   // CUDA_ERROR_INVALID_VALUE
	cudaErrorOutOfMemory  = 2   // CUDA_ERROR_OUT_OF_MEMORY
	cudaErrorNoDevice     = 100 // CUDA_ERROR_NO_DEVICE
)

// cuda.h: CUdevice_attribute.
const (
	attributeClockRate              = 13 // CU_DEVICE_ATTRIBUTE_CLOCK_RATE, in kHz
	attributeMultiprocessorCount    = 16 // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
	attributeMemoryClockRate        = 36 // CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, in kHz
	attributeGlobalMemoryBusWidth   = 37 // CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, in bits
	attributeComputeCapabilityMajor = 75 // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
	attributeComputeCapabilityMinor = 76 // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
	attributeSharedMemoryOptIn      = 97 // CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
)

// cuda.h: flags.
const (
	streamNonBlocking         = 1 // CU_STREAM_NON_BLOCKING
	eventDefault              = 0 // CU_EVENT_DEFAULT
	eventDisableTiming        = 2 // CU_EVENT_DISABLE_TIMING
	memHostAllocPortable      = 1 // CU_MEMHOSTALLOC_PORTABLE
	streamCaptureModeRelaxed  = 2 // CU_STREAM_CAPTURE_MODE_RELAXED: a capture may end on another thread
	funcMaxDynamicSharedBytes = 8 // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
)
