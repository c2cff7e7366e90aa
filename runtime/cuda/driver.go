package cuda

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"tandem/algo/unit"
)

// Driver is NVIDIA's driver, opened.
type Driver struct {
	libraries Libraries
	cache     string // folder, or "" for none
	version   int    // 1000 times the major plus 10 times the minor version
	cu        driverEntries

	compiler    func() (*Compiler, error)
	blas        func() (*blasEntries, error)
	collectives func() (*collectiveEntries, error)
}

// driverEntries are the functions of libcuda. Later forms of a function have a suffix, which cuda.h hides.
type driverEntries struct {
	init, driverGetVersion, getErrorName, getErrorString                       entry
	deviceGetCount, deviceGet, deviceGetName, deviceTotalMem, deviceGetUUID    entry
	deviceGetAttribute, primaryCtxRetain, primaryCtxRelease, ctxSetCurrent     entry
	ctxSynchronize, memAlloc, memFree, memGetInfo, memHostAlloc, memFreeHost   entry
	streamCreate, streamDestroy, streamSynchronize, streamWaitEvent            entry
	eventCreate, eventDestroy, eventRecord, eventSynchronize, eventElapsedTime entry
	memcpyHtoD, memcpyDtoH, memcpyDtoD, memsetD8                               entry
	moduleLoadData, moduleUnload, moduleGetFunction, funcSetAttribute          entry
	funcGetParamInfo, launchKernel                                             entry
	streamBeginCapture, streamEndCapture, graphInstantiate, graphLaunch        entry
	graphExecDestroy, graphDestroy                                             entry
}

func (e *driverEntries) list() []wanted {
	return []wanted{
		{&e.init, "cuInit", false},
		{&e.driverGetVersion, "cuDriverGetVersion", false},
		{&e.getErrorName, "cuGetErrorName", false},
		{&e.getErrorString, "cuGetErrorString", false},
		{&e.deviceGetCount, "cuDeviceGetCount", false},
		{&e.deviceGet, "cuDeviceGet", false},
		{&e.deviceGetName, "cuDeviceGetName", false},
		{&e.deviceTotalMem, "cuDeviceTotalMem_v2", false},
		{&e.deviceGetUUID, "cuDeviceGetUuid", false},
		{&e.deviceGetAttribute, "cuDeviceGetAttribute", false},
		{&e.primaryCtxRetain, "cuDevicePrimaryCtxRetain", false},
		{&e.primaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", false}, // since CUDA 11.0
		{&e.ctxSetCurrent, "cuCtxSetCurrent", false},
		{&e.ctxSynchronize, "cuCtxSynchronize", false},
		{&e.memAlloc, "cuMemAlloc_v2", false},
		{&e.memFree, "cuMemFree_v2", false},
		{&e.memGetInfo, "cuMemGetInfo_v2", false},
		{&e.memHostAlloc, "cuMemHostAlloc", false},
		{&e.memFreeHost, "cuMemFreeHost", false},
		{&e.streamCreate, "cuStreamCreate", false},
		{&e.streamDestroy, "cuStreamDestroy_v2", false},
		{&e.streamSynchronize, "cuStreamSynchronize", false},
		{&e.streamWaitEvent, "cuStreamWaitEvent", false},
		{&e.eventCreate, "cuEventCreate", false},
		{&e.eventDestroy, "cuEventDestroy_v2", false},
		{&e.eventRecord, "cuEventRecord", false},
		{&e.eventSynchronize, "cuEventSynchronize", false},
		{&e.eventElapsedTime, "cuEventElapsedTime", false},
		{&e.memcpyHtoD, "cuMemcpyHtoDAsync_v2", false},
		{&e.memcpyDtoH, "cuMemcpyDtoHAsync_v2", false},
		{&e.memcpyDtoD, "cuMemcpyDtoDAsync_v2", false},
		{&e.memsetD8, "cuMemsetD8Async", false},
		{&e.moduleLoadData, "cuModuleLoadData", false},
		{&e.moduleUnload, "cuModuleUnload", false},
		{&e.moduleGetFunction, "cuModuleGetFunction", false},
		{&e.funcSetAttribute, "cuFuncSetAttribute", false},
		{&e.funcGetParamInfo, "cuFuncGetParamInfo", true}, // since CUDA 12.4
		{&e.launchKernel, "cuLaunchKernel", false},
		{&e.streamBeginCapture, "cuStreamBeginCapture_v2", false},
		{&e.streamEndCapture, "cuStreamEndCapture", false},
		{&e.graphInstantiate, "cuGraphInstantiateWithFlags", false}, // since CUDA 11.4
		{&e.graphLaunch, "cuGraphLaunch", false},
		{&e.graphExecDestroy, "cuGraphExecDestroy", false},
		{&e.graphDestroy, "cuGraphDestroy", false},
	}
}

// leastVersion is the oldest version of CUDA with all functions that are used.
const leastVersion = 11040

// Open opens the driver and initialises it. It returns an error that wraps ErrNoDriver if this machine has
// no driver or no GPU, and ErrNotBuilt if the program cannot open libraries.
func Open(libraries Libraries) (*Driver, error) {
	if !canOpen {
		return nil, ErrNotBuilt
	}
	d := &Driver{libraries: libraries, cache: libraries.Cache}
	switch d.cache {
	case None:
		d.cache = ""
	case "":
		if folder, err := os.UserCacheDir(); err == nil {
			d.cache = filepath.Join(folder, "tandem", "cuda")
		}
	}
	file := libraries.Driver
	if file == "" {
		file = "libcuda.so.1"
	}
	// The version comes first: an old driver lacks functions.
	probe := []wanted{{&d.cu.driverGetVersion, "cuDriverGetVersion", false}}
	if err := load("NVIDIA's driver", []string{file}, probe); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDriver, err)
	}
	version := new(int32)
	if code := codeOf(call(d.cu.driverGetVersion.address,
		uintptr(unsafe.Pointer(version)))); code != cudaSuccess {
		return nil, fmt.Errorf("%w: cuDriverGetVersion of %s returns %d", ErrNoDriver, file, code)
	}
	if d.version = int(*version); d.version < leastVersion {
		return nil, fmt.Errorf("NVIDIA's driver (%s) is too old: it supports CUDA %s, want %s or later",
			fileOf(d.cu.driverGetVersion.address), versionText(d.version), versionText(leastVersion))
	}
	if err := load("NVIDIA's driver", []string{file}, d.cu.list()); err != nil {
		return nil, err
	}
	if code := codeOf(call(d.cu.init.address, 0)); code != cudaSuccess {
		err := d.failure(-1, "cuInit", code)
		if code == cudaErrorNoDevice {
			return nil, fmt.Errorf("%w: %w", ErrNoDriver, err)
		}
		return nil, fmt.Errorf("%w; does nvidia-smi find the GPU?", err)
	}
	d.compiler = sync.OnceValues(func() (*Compiler, error) {
		return openCompiler(d.libraries, d.version/1000)
	})
	d.blas = sync.OnceValues(d.openBLAS)
	d.collectives = sync.OnceValues(d.openCollectives)
	return d, nil
}

// versionText returns the version of CUDA that a number such as 12040 stands for.
func versionText(version int) string { return fmt.Sprintf("%d.%d", version/1000, version%1000/10) }

// Version returns the version of CUDA that the driver supports, such as 12.4.
func (d *Driver) Version() string { return versionText(d.version) }

// failure returns the error of a call with a code of the driver.
func (d *Driver) failure(device int, what string, code int) *Error {
	address := new(uintptr)
	said := ""
	if codeOf(call(d.cu.getErrorString.address, uintptr(code),
		uintptr(unsafe.Pointer(address)))) == cudaSuccess {
		said = text(*address)
	}
	if said == "" {
		said = fmt.Sprintf("error %d", code)
	}
	e := &Error{Device: device, Call: what, Code: code, Text: said}
	if code == cudaErrorUnknown && device >= 0 {
		e.Note = "the GPU may be lost: see nvidia-smi and the log of the kernel"
	}
	return e
}

// check calls a function that concerns no device, or one that is not open.
//
//go:uintptrescapes
func (d *Driver) check(device int, e *entry, arguments ...uintptr) error {
	if code := codeOf(call(e.address, arguments...)); code != cudaSuccess {
		return d.failure(device, e.name, code)
	}
	return nil
}

// Devices describes the devices of this machine that the process may use.
func (d *Driver) Devices() ([]Info, error) {
	count := new(int32)
	if err := d.check(-1, &d.cu.deviceGetCount, uintptr(unsafe.Pointer(count))); err != nil {
		return nil, err
	}
	all := make([]Info, *count)
	for i := range all {
		info, _, err := d.describe(i)
		if err != nil {
			return nil, err
		}
		all[i] = info
	}
	return all, nil
}

// describe describes a device, and returns its handle.
func (d *Driver) describe(ordinal int) (Info, uintptr, error) {
	device := new(int32)
	if err := d.check(ordinal, &d.cu.deviceGet, uintptr(unsafe.Pointer(device)),
		uintptr(ordinal)); err != nil {
		return Info{}, 0, err
	}
	handle := uintptr(*device)
	info := Info{Ordinal: ordinal}
	name, uuid, memory := new([128]byte), new([16]byte), new(uintptr)
	err := errors.Join(
		d.check(ordinal, &d.cu.deviceGetName, uintptr(unsafe.Pointer(name)), uintptr(len(name)-1), handle),
		d.check(ordinal, &d.cu.deviceGetUUID, uintptr(unsafe.Pointer(uuid)), handle),
		d.check(ordinal, &d.cu.deviceTotalMem, uintptr(unsafe.Pointer(memory)), handle))
	if err != nil {
		return Info{}, 0, err
	}
	info.Name, info.Memory = text(uintptr(unsafe.Pointer(name))), unit.Bytes(*memory)
	runtime.KeepAlive(name)
	h := hex.EncodeToString(uuid[:])
	info.UUID = strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
	value := new(int32)
	for _, a := range []struct {
		to        *int
		attribute uintptr
		optional  bool
	}{
		{&info.Major, attributeComputeCapabilityMajor, false},
		{&info.Minor, attributeComputeCapabilityMinor, false},
		{&info.Processors, attributeMultiprocessorCount, false},
		{&info.SharedBytes, attributeSharedMemoryOptIn, false},
		{&info.ClockKHz, attributeClockRate, true},
		{&info.MemoryClockKHz, attributeMemoryClockRate, true},
		{&info.BusBits, attributeGlobalMemoryBusWidth, true},
		{&info.CacheBytes, attributeL2CacheSize, true},
	} {
		err := d.check(ordinal, &d.cu.deviceGetAttribute, uintptr(unsafe.Pointer(value)), a.attribute, handle)
		if err != nil && !a.optional {
			return Info{}, 0, err
		}
		if err == nil {
			*a.to = int(*value)
		}
	}
	return info, handle, nil
}

// Open opens the device cuda:ordinal. It uses the context that all libraries of the process share.
func (d *Driver) Open(ordinal int) (*Device, error) {
	all, err := d.Devices()
	if err != nil {
		return nil, err
	}
	if ordinal < 0 || ordinal >= len(all) {
		return nil, fmt.Errorf("cuda:%d does not exist; %s", ordinal, listOf(all))
	}
	info, handle, err := d.describe(ordinal)
	if err != nil {
		return nil, err
	}
	device := &Device{driver: d, info: info, handle: handle}
	err = d.check(ordinal, &d.cu.primaryCtxRetain, uintptr(unsafe.Pointer(&device.context[0])), handle)
	if err != nil {
		return nil, err
	}
	return device, nil
}

// listOf says which devices exist.
func listOf(all []Info) string {
	where := "this machine has "
	if visible, set := os.LookupEnv("CUDA_VISIBLE_DEVICES"); set {
		where = fmt.Sprintf("with CUDA_VISIBLE_DEVICES=%s this process can use ", visible)
	}
	if len(all) == 0 {
		return where + "no GPU"
	}
	var texts []string
	for _, info := range all {
		texts = append(texts, info.String())
	}
	return where + strings.Join(texts, ", ")
}
