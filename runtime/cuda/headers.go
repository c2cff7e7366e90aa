package cuda

// The constants and structures of CUDA's headers that this package uses, with their names there. They are
// part of the binary interface, so they are equal in all versions of a major version.

// cuda.h: CUresult.
const (
	cudaSuccess           = 0   // CUDA_SUCCESS
	cudaErrorInvalidValue = 1   // CUDA_ERROR_INVALID_VALUE
	cudaErrorOutOfMemory  = 2   // CUDA_ERROR_OUT_OF_MEMORY
	cudaErrorUnknown      = 999 // CUDA_ERROR_UNKNOWN
	cudaErrorNoDevice     = 100 // CUDA_ERROR_NO_DEVICE
)

// cuda.h: CUdevice_attribute.
const (
	attributeClockRate              = 13 // CU_DEVICE_ATTRIBUTE_CLOCK_RATE, in kHz
	attributeMultiprocessorCount    = 16 // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
	attributeMemoryClockRate        = 36 // CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, in kHz
	attributeGlobalMemoryBusWidth   = 37 // CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, in bits
	attributeL2CacheSize            = 38 // CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, in bytes
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

// library_types.h: cudaDataType.
const (
	real32F  = 0  // CUDA_R_32F
	real16F  = 2  // CUDA_R_16F
	real16BF = 14 // CUDA_R_16BF
)

// cublas_api.h: cublasStatus_t, cublasComputeType_t and cublasOperation_t.
const (
	compute32F         = 68 // CUBLAS_COMPUTE_32F
	compute32FFastTF32 = 77 // CUBLAS_COMPUTE_32F_FAST_TF32

	operationTransposed = 1 // CUBLAS_OP_T

	statusNotSupported = 15 // CUBLAS_STATUS_NOT_SUPPORTED
)

// cublasLt.h: attributes.
const (
	layoutBatchCount         = 5 // CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t
	layoutStridedBatchOffset = 6 // CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t

	descTransA      = 3 // CUBLASLT_MATMUL_DESC_TRANSA, int32_t
	descTransB      = 4 // CUBLASLT_MATMUL_DESC_TRANSB, int32_t
	descEpilogue    = 7 // CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t
	descBiasPointer = 8 // CUBLASLT_MATMUL_DESC_BIAS_POINTER, const void *

	preferMaxWorkspaceBytes = 1 // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t
	preferMinAlignmentA     = 5 // CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, uint32_t
	preferMinAlignmentB     = 6 // CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, uint32_t
	preferMinAlignmentC     = 7 // CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, uint32_t
	preferMinAlignmentD     = 8 // CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, uint32_t
)

// cublasLt.h: cublasLtEpilogue_t.
const (
	epilogueDefault = 1 // CUBLASLT_EPILOGUE_DEFAULT
	epilogueBias    = 4 // CUBLASLT_EPILOGUE_BIAS
)

// matmulAlgo is cublasLtMatmulAlgo_t of cublasLt.h.
type matmulAlgo struct{ data [8]uint64 }

// matmulHeuristicResult is cublasLtMatmulHeuristicResult_t of cublasLt.h.
type matmulHeuristicResult struct {
	algo          matmulAlgo
	workspaceSize uint64
	state         int32
	wavesCount    float32
	reserved      [4]int32
}

// nccl.h: ncclResult_t, ncclRedOp_t and ncclDataType_t.
const (
	ncclSuccess    = 0
	ncclInProgress = 7

	ncclSum = 0

	ncclInt8     = 0
	ncclFloat16  = 6
	ncclFloat32  = 7
	ncclBfloat16 = 9
)

// uniqueIDBytes is NCCL_UNIQUE_ID_BYTES of nccl.h.
const uniqueIDBytes = 128

// ncclConfig is ncclConfig_t of nccl.h as of NCCL 2.14, whose last four bytes became a field in NCCL 2.17.
// Later versions append fields, and take their defaults for a structure whose version is older.
type ncclConfig struct {
	size           uint64
	magic          uint32
	version        uint32
	blocking       int32
	cgaClusterSize int32
}

// Values of ncclConfig.
const (
	ncclMagic     = 0xcafebeef  // NCCL_API_MAGIC
	ncclVersion   = 21400       // 2.14.0
	ncclUndefined = -2147483648 // NCCL_CONFIG_UNDEF_INT
)
