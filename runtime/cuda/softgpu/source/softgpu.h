// What the parts of the software GPU share. The types and codes have the names and values of CUDA's headers
// (cuda.h, nvrtc.h, cublasLt.h and nccl.h of CUDA 12).
#pragma once

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#define API extern "C" __attribute__((visibility("default")))

typedef int CUresult;
typedef unsigned long long CUdeviceptr;

enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_NOT_INITIALIZED = 3,
	CUDA_ERROR_NO_DEVICE = 100,
	CUDA_ERROR_INVALID_DEVICE = 101,
	CUDA_ERROR_INVALID_IMAGE = 200,
	CUDA_ERROR_INVALID_CONTEXT = 201,
	CUDA_ERROR_INVALID_HANDLE = 400,
	CUDA_ERROR_NOT_FOUND = 500,
	CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_ILLEGAL_ADDRESS = 700,
	CUDA_ERROR_LAUNCH_FAILED = 719,
	CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
	CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
	CUDA_ERROR_STREAM_CAPTURE_MERGE = 902,
	CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
	CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904,
	CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905,
	CUDA_ERROR_CAPTURED_EVENT = 907,
	CUDA_ERROR_UNKNOWN = 999,
};

// A Device is also its primary context.
struct Device {
	int ordinal;
	size_t used = 0;
	int retained = 0;
	std::atomic<CUresult> broken{0};  // after a fault, every call fails with its code
	std::atomic<uint64_t> issued{0};  // pieces of work
};

// An Allocation is memory of a device or pinned memory of the host. It ends at a page that cannot be
// touched.
struct Allocation {
	char *map;  // where its pages begin
	size_t mapped;
	char *start;
	size_t bytes;
	Device *device;
	bool pinned;
};

typedef std::function<void()> Work;

// A Mark is one recording of an event.
struct Mark {
	std::mutex mutex;
	std::condition_variable changed;
	bool reached = false;
	std::chrono::steady_clock::time_point when;

	void reach();
	void wait();
	bool ready();
};

struct Stream;

struct Node {
	Work work;
	std::vector<int> after;
};

// A Capture collects the work of one or more streams as the nodes of a graph.
struct Capture {
	std::vector<Node> nodes;
	Stream *origin;
	std::set<Stream *> streams;
	std::atomic<bool> invalid{false};
	bool ended = false;
};

struct Graph {
	Device *device;
	std::vector<Node> nodes;
};

struct Event {
	Device *device;
	bool timed;
	std::shared_ptr<Mark> mark;
	std::shared_ptr<Capture> capture;  // where it was recorded last, if in a capture
	std::vector<int> after;
};

// A Stream is a queue of work and the thread that performs it.
struct Stream {
	Device *device;
	std::thread thread;
	std::mutex mutex;
	std::condition_variable changed;
	std::deque<Work> queue;
	uint64_t issued = 0, done = 0;
	bool closed = false;
	uint64_t random;
	std::shared_ptr<Capture> capture;
	std::vector<int> after;  // the nodes that its next work in the capture follows
};

// state guards the tables of handles and allocations.
extern std::mutex state;
extern std::set<void *> handles;

template <class T> bool known(T *handle) {
	std::lock_guard<std::mutex> hold(state);
	return handle && handles.count(handle);
}
template <class T> T *keep(T *handle) {
	std::lock_guard<std::mutex> hold(state);
	handles.insert(handle);
	return handle;
}
template <class T> bool forget(T *handle) {
	std::lock_guard<std::mutex> hold(state);
	return handle && handles.erase(handle);
}

// driver.cpp
std::string setting(const char *name);
uint64_t numericSetting(const char *name, uint64_t otherwise);
CUresult ready(Device **device);  // the device whose context is current, or why it cannot be used
Allocation *allocationAround(uintptr_t address, uintptr_t bytes);
std::string nearestAllocation(uintptr_t address);
std::string damageAfterAllocations(Device *device);
void breakDevice(Device *device, CUresult code, const std::string &details);
void allowFaults();
bool loses(Device *device);  // counts a piece of work, and reports whether the device is lost now

// moved.cpp
// watchMutex is held while a launch is watched, which may keep other threads from memory of devices. It is taken
// before the mutexes of driver.cpp.
extern std::mutex watchMutex;
bool countsMoved();
void countMoved(const std::string &name, const Work &launch);  // runs a launch, and counts the bytes it moves

// stream.cpp
CUresult issue(Stream *stream, Work work);
void settle(Device *device);  // waits for all streams of a device
bool spoil(Device *device);   // ends the captures of a device with an error, and reports whether there was one
uint64_t draw(uint64_t *random);

// nccl.cpp
// settleTogether waits for all streams of the devices that share a communicator with a device. The driver may
// wait for them when memory is allocated or freed: NCCL lets these devices reach each other's memory.
void settleTogether(Device *device);

// kernels.cpp
// attempt runs work that touches memory of the device. It returns false after a fault, with its address.
bool attempt(const Work &work, uintptr_t *fault);
std::string whereFaulted();  // the block and the thread of this worker, after a fault in a kernel
