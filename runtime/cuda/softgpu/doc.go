// Package softgpu is a GPU in software, for tests: one shared library with the entry points of NVIDIA's
// libraries that package cuda calls. It is compiled once by c++ and kept in the user's cache folder.
//
//	driver := softgpu.Open(t, 2) // with cuda:0 and cuda:1; skips the test without a C++ compiler
//
// Memory of a device is memory of the host. An allocation ends at a page that cannot be touched, so a write
// beyond it fails as on a GPU: the next call that waits for the device returns an error, here with the
// kernel, the block and the thread. New memory is NaN. A stream is a thread, so that a missing
// synchronisation shows. Kernels are compiled as C++, with a fibre for each thread of a block that has to
// wait. Products are plain loops, and collectives use memory that processes share.
//
// Settings are environment variables:
//
//	TANDEM_SOFTGPU_DEVICES     number of devices (default 1)
//	TANDEM_SOFTGPU_MEMORY      bytes of each device (default 4 GiB)
//	TANDEM_SOFTGPU_SEED        not 0: streams wait at random; blocks and nodes of graphs in any order
//	TANDEM_SOFTGPU_LOST_AFTER  pieces of work, or device:pieces, after which it is lost
//	TANDEM_SOFTGPU_MOVED       not 0: bytes that launches move are counted, and products not computed
//	TANDEM_SOFTGPU_NO_BIAS     not 0: no product adds a bias
//	TANDEM_SOFTGPU_DRIVER      version of the driver (default 12040)
//	TANDEM_SOFTGPU_NO_NVML     not empty: NVML does not start
//	TANDEM_SOFTGPU_THROTTLED   bits of NVML's reasons why clocks are low (default 0)
//
// It is a test instrument. It is found where a test says, and never used in place of a GPU. With
// TANDEM_TEST_GPU=1 the same tests use a real one.
package softgpu
