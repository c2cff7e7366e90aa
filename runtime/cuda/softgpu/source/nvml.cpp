// NVML: the state of devices, which needs no context. It has the codes and structures of nvml.h.

typedef int nvmlReturn_t;
enum {
	NVML_SUCCESS = 0,
	NVML_ERROR_UNINITIALIZED = 1,
	NVML_ERROR_INVALID_ARGUMENT = 2,
	NVML_ERROR_NOT_SUPPORTED = 3,
	NVML_ERROR_NOT_FOUND = 6,
	NVML_ERROR_DRIVER_NOT_LOADED = 9,
	NVML_ERROR_GPU_IS_LOST = 15,
};
struct nvmlUtilization_t { unsigned gpu, memory; };
struct nvmlMemory_t { unsigned long long total, free, used; };

static std::atomic<int> nvmlUsers{0};

API nvmlReturn_t nvmlInit_v2() {
	if (deviceCount() == 0 || !setting("TANDEM_SOFTGPU_NO_NVML").empty()) return NVML_ERROR_DRIVER_NOT_LOADED;
	nvmlUsers++;
	return NVML_SUCCESS;
}

API nvmlReturn_t nvmlShutdown() {
	if (nvmlUsers == 0) return NVML_ERROR_UNINITIALIZED;
	nvmlUsers--;
	return NVML_SUCCESS;
}

API const char *nvmlErrorString(nvmlReturn_t code) {
	switch (code) {
	case NVML_SUCCESS: return "The operation was successful";
	case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
	case NVML_ERROR_NOT_FOUND: return "Not Found";
	case NVML_ERROR_DRIVER_NOT_LOADED: return "Driver Not Loaded";
	case NVML_ERROR_GPU_IS_LOST: return "GPU is lost";
	}
	return "Unknown Error";
}

API nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned length) {
	if (nvmlUsers == 0) return NVML_ERROR_UNINITIALIZED;
	snprintf(version, length, "550.0");
	return NVML_SUCCESS;
}

// A handle is the ordinal and 1.
typedef struct nvmlDevice *nvmlDevice_t;

static nvmlReturn_t nvmlOrdinal(nvmlDevice_t device, int *ordinal) {
	if (nvmlUsers == 0) return NVML_ERROR_UNINITIALIZED;
	*ordinal = int(intptr_t(device)) - 1;
	if (*ordinal < 0 || *ordinal >= deviceCount()) return NVML_ERROR_INVALID_ARGUMENT;
	if (initialized && devices[*ordinal]->broken == CUDA_ERROR_UNKNOWN) return NVML_ERROR_GPU_IS_LOST;
	return NVML_SUCCESS;
}

API nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device) {
	if (nvmlUsers == 0) return NVML_ERROR_UNINITIALIZED;
	for (int i = 0; i < deviceCount(); i++) {
		char text[64];
		snprintf(text, sizeof text, "GPU-736f6674-7761-7265-2047-5055202020%02x", i);
		if (!strcmp(text, uuid)) {
			*device = nvmlDevice_t(intptr_t(i + 1));
			return NVML_SUCCESS;
		}
	}
	return NVML_ERROR_NOT_FOUND;
}

API nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned length) {
	int ordinal;
	if (nvmlReturn_t code = nvmlOrdinal(device, &ordinal)) return code;
	snprintf(name, length, "Tandem software GPU");
	return NVML_SUCCESS;
}

// The numbers differ by device, so that two of them cannot be taken for each other.
API nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *rates) {
	int ordinal;
	if (nvmlReturn_t code = nvmlOrdinal(device, &ordinal)) return code;
	*rates = {unsigned(60 + ordinal), unsigned(20 + ordinal)};
	return NVML_SUCCESS;
}

API nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory) {
	int ordinal;
	if (nvmlReturn_t code = nvmlOrdinal(device, &ordinal)) return code;
	size_t used = initialized ? devices[ordinal]->used : 0;
	*memory = {deviceMemory(), deviceMemory() - used, used};
	return NVML_SUCCESS;
}

API nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned *milliwatts) {
	int ordinal;
	if (nvmlReturn_t code = nvmlOrdinal(device, &ordinal)) return code;
	*milliwatts = 123000 + 1000 * ordinal;
	return NVML_SUCCESS;
}

API nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned *milliwatts) {
	int ordinal;
	if (nvmlReturn_t code = nvmlOrdinal(device, &ordinal)) return code;
	return NVML_ERROR_NOT_SUPPORTED;
}

API nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned *degrees) {
	int ordinal;
	if (nvmlReturn_t code = nvmlOrdinal(device, &ordinal)) return code;
	if (sensor != 0) return NVML_ERROR_INVALID_ARGUMENT;  // NVML_TEMPERATURE_GPU
	*degrees = unsigned(50 + ordinal);
	return NVML_SUCCESS;
}

API nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, int clock, unsigned *megahertz) {
	int ordinal;
	if (nvmlReturn_t code = nvmlOrdinal(device, &ordinal)) return code;
	if (clock != 1 && clock != 2) return NVML_ERROR_INVALID_ARGUMENT;  // NVML_CLOCK_SM, NVML_CLOCK_MEM
	*megahertz = clock == 1 ? 1000 : 2000;
	return NVML_SUCCESS;
}

API nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long *reasons) {
	int ordinal;
	if (nvmlReturn_t code = nvmlOrdinal(device, &ordinal)) return code;
	*reasons = numericSetting("TANDEM_SOFTGPU_THROTTLED", 0);
	return NVML_SUCCESS;
}
