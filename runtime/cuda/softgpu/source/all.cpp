// A GPU in software, for tests: the entry points of libcuda, libnvrtc, libcublasLt, libnccl and libnvidia-ml
// that Tandem calls. Memory of a device is memory of the host, and ends at a page that cannot be touched. Each stream
// is a thread.
#include "softgpu.h"

#include "blas.cpp"
#include "driver.cpp"
#include "moved.cpp"
#include "kernels.cpp"
#include "nccl.cpp"
#include "nvml.cpp"
#include "nvrtc.cpp"
#include "stream.cpp"
