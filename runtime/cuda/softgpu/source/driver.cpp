// Devices, contexts, memory and errors.

std::mutex state;
std::set<void *> handles;

static std::map<std::string, std::string> settings;
static std::map<uintptr_t, Allocation *> allocations;  // by their ends
static const int mostDevices = 16;
static Device *devices[mostDevices];
static bool initialized;
static thread_local Device *current;
static std::string brokenText[2];  // of CUDA_ERROR_ILLEGAL_ADDRESS and CUDA_ERROR_LAUNCH_FAILED

// softgpuSet changes a setting of this process, which otherwise comes from the environment.
API void softgpuSet(const char *name, const char *value) {
	std::lock_guard<std::mutex> hold(state);
	settings[name] = value;
}

// softgpuGet returns a setting of softgpuSet, or "".
API const char *softgpuGet(const char *name) {
	std::lock_guard<std::mutex> hold(state);
	auto found = settings.find(name);
	return found == settings.end() ? "" : found->second.c_str();
}

std::string setting(const char *name) {
	std::lock_guard<std::mutex> hold(state);
	auto found = settings.find(name);
	if (found != settings.end() && !found->second.empty()) return found->second;
	const char *value = getenv(name);
	return value ? value : "";
}

uint64_t numericSetting(const char *name, uint64_t otherwise) {
	std::string value = setting(name);
	return value.empty() ? otherwise : strtoull(value.c_str(), nullptr, 10);
}

static int deviceCount() {
	uint64_t count = numericSetting("TANDEM_SOFTGPU_DEVICES", 1);
	return count > mostDevices ? mostDevices : int(count);
}

static size_t deviceMemory() { return numericSetting("TANDEM_SOFTGPU_MEMORY", size_t(4) << 30); }

CUresult ready(Device **device) {
	if (!initialized) return CUDA_ERROR_NOT_INITIALIZED;
	if (!current) return CUDA_ERROR_INVALID_CONTEXT;
	*device = current;
	return current->broken;
}

void breakDevice(Device *device, CUresult code, const std::string &details) {
	std::lock_guard<std::mutex> hold(state);
	if (device->broken) return;
	brokenText[code == CUDA_ERROR_LAUNCH_FAILED] =
		(code == CUDA_ERROR_LAUNCH_FAILED ? "unspecified launch failure: "
		                                  : "an illegal memory access was encountered: ") + details;
	device->broken = code;
}

// loses reads TANDEM_SOFTGPU_LOST_AFTER: a number of pieces of work, or device:number.
bool loses(Device *device) {
	uint64_t issued = ++device->issued;
	std::string after = setting("TANDEM_SOFTGPU_LOST_AFTER");
	if (after.empty()) return false;
	size_t colon = after.find(':');
	if (colon != std::string::npos) {
		if (atoi(after.c_str()) != device->ordinal) return false;
		after = after.substr(colon + 1);
	}
	if (issued <= strtoull(after.c_str(), nullptr, 10)) return false;
	device->broken = CUDA_ERROR_UNKNOWN;
	return true;
}

API CUresult cuInit(unsigned flags) {
	if (flags) return CUDA_ERROR_INVALID_VALUE;
	if (deviceCount() == 0) return CUDA_ERROR_NO_DEVICE;
	std::lock_guard<std::mutex> hold(state);
	if (initialized) return CUDA_SUCCESS;
	for (int i = 0; i < mostDevices; i++) {
		devices[i] = new Device;
		devices[i]->ordinal = i;
	}
	allowFaults();
	initialized = true;
	return CUDA_SUCCESS;
}

API CUresult cuDriverGetVersion(int *version) {
	*version = int(numericSetting("TANDEM_SOFTGPU_DRIVER", 12040));
	return CUDA_SUCCESS;
}

API CUresult cuDeviceGetCount(int *count) {
	if (!initialized) return CUDA_ERROR_NOT_INITIALIZED;
	*count = deviceCount();
	return CUDA_SUCCESS;
}

API CUresult cuDeviceGet(int *device, int ordinal) {
	if (!initialized) return CUDA_ERROR_NOT_INITIALIZED;
	if (ordinal < 0 || ordinal >= deviceCount()) return CUDA_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

static bool exists(int device) { return initialized && device >= 0 && device < deviceCount(); }

API CUresult cuDeviceGetName(char *name, int length, int device) {
	if (!exists(device)) return CUDA_ERROR_INVALID_DEVICE;
	snprintf(name, length, "Tandem software GPU");
	return CUDA_SUCCESS;
}

API CUresult cuDeviceTotalMem_v2(size_t *bytes, int device) {
	if (!exists(device)) return CUDA_ERROR_INVALID_DEVICE;
	*bytes = deviceMemory();
	return CUDA_SUCCESS;
}

API CUresult cuDeviceGetUuid(char *uuid, int device) {
	if (!exists(device)) return CUDA_ERROR_INVALID_DEVICE;
	memcpy(uuid, "software GPU    ", 16);
	uuid[15] = char(device);
	return CUDA_SUCCESS;
}

static const int sharedMost = 227 << 10, sharedUsual = 48 << 10;

API CUresult cuDeviceGetAttribute(int *value, int attribute, int device) {
	if (!exists(device)) return CUDA_ERROR_INVALID_DEVICE;
	static const std::map<int, int> values = {
		{1, 1024},          // CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK
		{8, sharedUsual},   // CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK
		{10, 32},           // CU_DEVICE_ATTRIBUTE_WARP_SIZE
		{13, 1000000},      // CU_DEVICE_ATTRIBUTE_CLOCK_RATE
		{16, 1},            // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
		{36, 1000000},      // CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE
		{37, 64},           // CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH
		{38, 1048576},      // CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
		{75, 8},            // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
		{76, 0},            // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
		{97, sharedMost},   // CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
	};
	auto found = values.find(attribute);
	if (found == values.end()) return CUDA_ERROR_INVALID_VALUE;
	*value = found->second;
	return CUDA_SUCCESS;
}

API CUresult cuDevicePrimaryCtxRetain(Device **context, int device) {
	if (!exists(device)) return CUDA_ERROR_INVALID_DEVICE;
	std::lock_guard<std::mutex> hold(state);
	devices[device]->retained++;
	*context = devices[device];
	return CUDA_SUCCESS;
}

API CUresult cuCtxSetCurrent(Device *context) {
	if (!initialized) return CUDA_ERROR_NOT_INITIALIZED;
	if (context && context->retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
	current = context;
	return CUDA_SUCCESS;
}

API CUresult cuCtxGetDevice(int *device) {
	if (!current) return CUDA_ERROR_INVALID_CONTEXT;
	*device = current->ordinal;
	return CUDA_SUCCESS;
}

API CUresult cuCtxSynchronize() {
	Device *device;
	if (CUresult r = ready(&device)) return r;
	if (spoil(device)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	settle(device);
	return device->broken;
}

// allocate returns memory that ends at a page without access, and begins at a multiple of 16 bytes. The up
// to 15 bytes before that page which were not asked for are filled with a pattern and checked later. So are
// the bytes before the memory.
static const size_t page = 4096;
static const unsigned char pattern = 0xA5;

static Allocation *allocate(size_t bytes, Device *device, bool pinned) {
	settleTogether(device);
	size_t rounded = (bytes + 15) & ~size_t(15), pages = (rounded + page - 1) / page * page;
	char *map = (char *)mmap(nullptr, page + pages + page, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED) return nullptr;
	mprotect(map, page, PROT_NONE);
	mprotect(map + page + pages, page, PROT_NONE);
	char *start = map + page + pages - rounded;
	Allocation *a = new Allocation{map, page + pages + page, start, bytes, device, pinned};
	memset(map + page, pattern, pages - rounded);
	memset(a->start + bytes, pattern, rounded - bytes);
	// Memory begins as NaN, so that its use before it is written shows.
	const size_t most = size_t(64) << 20;  // more would take long
	if (!pinned && bytes <= most) memset(a->start, 0xFF, bytes);
	std::lock_guard<std::mutex> hold(state);
	allocations[uintptr_t(a->start) + bytes] = a;
	if (!pinned) device->used += bytes;
	return a;
}

Allocation *allocationAround(uintptr_t address, uintptr_t bytes) {
	std::lock_guard<std::mutex> hold(state);
	auto found = allocations.upper_bound(address);
	if (found == allocations.end()) return nullptr;
	Allocation *a = found->second;
	return address >= uintptr_t(a->start) && address + bytes <= found->first ? a : nullptr;
}

std::string nearestAllocation(uintptr_t address) {
	std::lock_guard<std::mutex> hold(state);
	char text[200];
	for (auto &entry : allocations) {
		Allocation *a = entry.second;
		uintptr_t start = uintptr_t(a->start), end = start + a->bytes;
		if (address < uintptr_t(a->map) || address >= uintptr_t(a->map) + a->mapped) continue;
		if (address >= end)
			snprintf(text, sizeof text, "%zu bytes after the end of an allocation of %zu bytes",
				size_t(address - end), a->bytes);
		else
			snprintf(text, sizeof text, "%zu bytes before the begin of an allocation of %zu bytes",
				size_t(start - address), a->bytes);
		return text;
	}
	snprintf(text, sizeof text, "%#zx, in no allocation", size_t(address));
	return text;
}

static bool hasPattern(const char *from, const char *to) {
	for (; from < to; from++)
		if ((unsigned char)*from != pattern) return false;
	return true;
}

static std::string damageOf(Allocation *a, bool before) {
	if (before && !hasPattern(a->map + page, a->start))
		return "something was written before an allocation of " + std::to_string(a->bytes) + " bytes";
	if (!hasPattern(a->start + a->bytes, a->map + a->mapped - page))
		return "something was written after an allocation of " + std::to_string(a->bytes) + " bytes";
	return "";
}

std::string damageAfterAllocations(Device *device) {
	std::lock_guard<std::mutex> one(watchMutex), hold(state);
	for (auto &entry : allocations) {
		if (entry.second->device != device) continue;
		std::string damage = damageOf(entry.second, false);
		if (!damage.empty()) return damage;
	}
	return "";
}

static CUresult release(void *start, bool pinned) {
	Device *device;
	if (CUresult r = ready(&device)) return r;
	Allocation *a = allocationAround(uintptr_t(start), 1);
	if (!a || a->start != start || a->pinned != pinned || (!pinned && a->device != device))
		return CUDA_ERROR_INVALID_VALUE;
	settle(a->device);
	settleTogether(a->device);
	std::lock_guard<std::mutex> one(watchMutex);
	std::string damage = damageOf(a, true);
	if (!damage.empty()) breakDevice(device, CUDA_ERROR_ILLEGAL_ADDRESS, damage);
	{
		std::lock_guard<std::mutex> hold(state);
		allocations.erase(uintptr_t(a->start) + a->bytes);
		if (!pinned) device->used -= a->bytes;
	}
	munmap(a->map, a->mapped);
	delete a;
	return device->broken;
}

// The last release of a context frees its memory. A new context begins without faults.
API CUresult cuDevicePrimaryCtxRelease_v2(int device) {
	if (!exists(device)) return CUDA_ERROR_INVALID_DEVICE;
	Device *d = devices[device];
	{
		std::lock_guard<std::mutex> hold(state);
		if (d->retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
		if (--d->retained > 0) return CUDA_SUCCESS;
	}
	settle(d);
	std::lock_guard<std::mutex> one(watchMutex), hold(state);
	for (auto entry = allocations.begin(); entry != allocations.end();) {
		Allocation *a = entry->second;
		if (a->device != d) {
			entry++;
			continue;
		}
		entry = allocations.erase(entry);
		munmap(a->map, a->mapped);
		delete a;
	}
	d->used = 0;
	d->issued = 0;
	d->broken = 0;
	return CUDA_SUCCESS;
}

API CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
	Device *device;
	if (CUresult r = ready(&device)) return r;
	if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
	size_t total = deviceMemory();
	if (device->used > total || bytes > total - device->used) return CUDA_ERROR_OUT_OF_MEMORY;
	Allocation *a = allocate(bytes, device, false);
	if (!a) return CUDA_ERROR_OUT_OF_MEMORY;
	*address = CUdeviceptr(a->start);
	return CUDA_SUCCESS;
}

API CUresult cuMemFree_v2(CUdeviceptr address) { return release((void *)address, false); }

API CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
	Device *device;
	if (CUresult r = ready(&device)) return r;
	*total = deviceMemory();
	*free = *total > device->used ? *total - device->used : 0;
	return CUDA_SUCCESS;
}

API CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
	Device *device;
	if (CUresult r = ready(&device)) return r;
	if (bytes == 0 || flags > 7) return CUDA_ERROR_INVALID_VALUE;
	Allocation *a = allocate(bytes, device, true);
	if (!a) return CUDA_ERROR_OUT_OF_MEMORY;
	*memory = a->start;
	return CUDA_SUCCESS;
}

API CUresult cuMemFreeHost(void *memory) { return release(memory, true); }

static const std::map<int, std::pair<const char *, const char *>> texts = {
	{CUDA_SUCCESS, {"CUDA_SUCCESS", "no error"}},
	{CUDA_ERROR_INVALID_VALUE, {"CUDA_ERROR_INVALID_VALUE", "invalid argument"}},
	{CUDA_ERROR_OUT_OF_MEMORY, {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}},
	{CUDA_ERROR_NOT_INITIALIZED, {"CUDA_ERROR_NOT_INITIALIZED", "initialization error"}},
	{CUDA_ERROR_NO_DEVICE, {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}},
	{CUDA_ERROR_INVALID_DEVICE, {"CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"}},
	{CUDA_ERROR_INVALID_IMAGE, {"CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"}},
	{CUDA_ERROR_INVALID_CONTEXT, {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"}},
	{CUDA_ERROR_INVALID_HANDLE, {"CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"}},
	{CUDA_ERROR_NOT_FOUND, {"CUDA_ERROR_NOT_FOUND", "named symbol not found"}},
	{CUDA_ERROR_NOT_READY, {"CUDA_ERROR_NOT_READY", "device not ready"}},
	{CUDA_ERROR_ILLEGAL_ADDRESS, {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}},
	{CUDA_ERROR_LAUNCH_FAILED, {"CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"}},
	{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
		{"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"}},
	{CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, {"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
		"operation failed due to a previous error during capture"}},
	{CUDA_ERROR_STREAM_CAPTURE_MERGE, {"CUDA_ERROR_STREAM_CAPTURE_MERGE",
		"operation would result in a merge of separate capture sequences"}},
	{CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
		{"CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began"}},
	{CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
		{"CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"}},
	{CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
		{"CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"}},
	{CUDA_ERROR_CAPTURED_EVENT,
		{"CUDA_ERROR_CAPTURED_EVENT",
			"operation not permitted on an event last recorded in a capturing stream"}},
	{CUDA_ERROR_UNKNOWN, {"CUDA_ERROR_UNKNOWN", "unknown error"}},
};

API CUresult cuGetErrorName(CUresult code, const char **text) {
	auto found = texts.find(code);
	*text = found == texts.end() ? nullptr : found->second.first;
	return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuGetErrorString(CUresult code, const char **text) {
	auto found = texts.find(code);
	*text = found == texts.end() ? nullptr : found->second.second;
	if (code == CUDA_ERROR_ILLEGAL_ADDRESS || code == CUDA_ERROR_LAUNCH_FAILED) {
		std::lock_guard<std::mutex> hold(state);
		std::string &details = brokenText[code == CUDA_ERROR_LAUNCH_FAILED];
		if (!details.empty()) *text = details.c_str();
	}
	return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
