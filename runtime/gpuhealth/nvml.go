//go:build cgo && linux && !static

package gpuhealth

import (
	"errors"
	"fmt"
	"math"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"tandem/algo/unit"
	"tandem/runtime/metrics"
)

// Watch reads the state of some GPUs.
type Watch struct {
	library nvml.Interface
	devices []device
	driver  string
}

type device struct {
	nvml.Device
	metrics.GPU // its name and UUID
}

// Open starts NVML and finds GPUs by their UUIDs, without "GPU-". library is a file name or path; empty
// stands for libnvidia-ml.so.1.
func Open(library string, uuids []string) (*Watch, error) {
	var options []nvml.LibraryOption
	if library != "" {
		options = append(options, nvml.WithLibraryPath(library))
	}
	l := nvml.New(options...)
	if code := l.Init(); code != nvml.SUCCESS {
		return nil, fmt.Errorf("gpuhealth: NVML does not start: %w", code) // nothing else may be called now
	}
	w := &Watch{library: l}
	w.driver, _ = l.SystemGetDriverVersion() // empty if it cannot be read
	for _, uuid := range uuids {
		d, code := l.DeviceGetHandleByUUID("GPU-" + uuid)
		if code != nvml.SUCCESS {
			return nil, errors.Join(fmt.Errorf("gpuhealth: GPU-%s: %w", uuid, code), w.Close())
		}
		name, _ := d.GetName() // empty if it cannot be read
		w.devices = append(w.devices, device{d, metrics.GPU{Name: name, UUID: uuid}})
	}
	return w, nil
}

// Driver returns the version of the driver, or "".
func (w *Watch) Driver() string { return w.driver }

// Read returns the state of each GPU, in the order of Open. It takes a millisecond or less for each. The
// error names the GPUs that do not answer, for example lost ones; the result lacks them.
func (w *Watch) Read() ([]metrics.GPU, error) {
	var all []metrics.GPU
	var failed []error
	for _, d := range w.devices {
		g, err := w.read(d)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		all = append(all, g)
	}
	return all, errors.Join(failed...)
}

func (w *Watch) read(d device) (metrics.GPU, error) {
	memory, code := d.GetMemoryInfo()
	if code != nvml.SUCCESS {
		return metrics.GPU{}, fmt.Errorf("gpuhealth: GPU-%s: %w", d.UUID, code)
	}
	g := d.GPU
	g.Memory, g.MemoryUsed = unit.Bytes(memory.Total), unit.Bytes(memory.Used)
	g.Utilisation = math.NaN()
	if rates, code := d.GetUtilizationRates(); code == nvml.SUCCESS {
		g.Utilisation = float64(rates.Gpu) / 100
	}
	g.Power = in(1e-3)(d.GetPowerUsage())
	g.PowerLimit = in(1e-3)(d.GetEnforcedPowerLimit())
	g.Temperature = in(1)(d.GetTemperature(nvml.TEMPERATURE_GPU))
	g.Clock = in(1e6)(d.GetClockInfo(nvml.CLOCK_SM))
	g.MemoryClock = in(1e6)(d.GetClockInfo(nvml.CLOCK_MEM))
	// A call of a function that the library lacks would end the program: drivers before 535 lack this one.
	if w.library.Extensions().LookupSymbol("nvmlDeviceGetCurrentClocksEventReasons") == nil {
		if bits, code := d.GetCurrentClocksEventReasons(); code == nvml.SUCCESS {
			g.Limits = reasons(bits)
		}
	}
	return g, nil
}

// in returns a function that converts an answer of NVML in some unit, or returns NaN if there is no answer.
func in(unit float64) func(value uint32, code nvml.Return) float64 {
	return func(value uint32, code nvml.Return) float64 {
		if code != nvml.SUCCESS {
			return math.NaN()
		}
		return float64(value) * unit
	}
}

// reasons returns the names of the reasons that are set, without idleness.
func reasons(bits uint64) (names []string) {
	for _, r := range []struct {
		bit  uint64
		name string
	}{
		{nvml.ClocksEventReasonApplicationsClocksSetting, "applications-clocks-setting"},
		{nvml.ClocksEventReasonSwPowerCap, "sw-power-cap"},
		{nvml.ClocksThrottleReasonHwSlowdown, "hw-slowdown"},
		{nvml.ClocksEventReasonSyncBoost, "sync-boost"},
		{nvml.ClocksEventReasonSwThermalSlowdown, "sw-thermal-slowdown"},
		{nvml.ClocksThrottleReasonHwThermalSlowdown, "hw-thermal-slowdown"},
		{nvml.ClocksThrottleReasonHwPowerBrakeSlowdown, "hw-power-brake-slowdown"},
		{nvml.ClocksEventReasonDisplayClockSetting, "display-clock-setting"},
	} {
		if bits&r.bit != 0 {
			names = append(names, r.name)
		}
	}
	return names
}

// Close ends NVML. Read must not be called after it.
func (w *Watch) Close() error {
	if code := w.library.Shutdown(); code != nvml.SUCCESS {
		return fmt.Errorf("gpuhealth: %w", code)
	}
	return nil
}
