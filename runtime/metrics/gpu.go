package metrics

import (
	"math"

	"tandem/algo/unit"
)

// GPU is the state of a GPU at one time. A number that the GPU does not tell is NaN.
type GPU struct {
	Name, UUID         string     // as nvidia-smi prints them, the UUID without "GPU-"
	Utilisation        float64    // share of the latest second or less in which a kernel ran, 0 to 1
	MemoryUsed, Memory unit.Bytes // used by any process
	Power, PowerLimit  float64    // W
	Temperature        float64    // °C, of the chip
	Clock, MemoryClock float64    // Hz; the first is that of the multiprocessors
	// Limits are the reasons, but for idleness, why the clocks are lower than they could be, as NVML names
	// them: "sw-power-cap", "hw-thermal-slowdown", …
	Limits []string
}

// AddGPU adds the state of a GPU.
func AddGPU(to *Snapshot, g GPU) {
	labels := []string{"gpu", g.UUID, "name", g.Name}
	for _, sample := range []struct {
		metric *Metric
		value  float64
		labels []string
	}{
		{GPUUtilisation, g.Utilisation, labels},
		{GPUMemoryUsed, float64(g.MemoryUsed), labels},
		{GPUMemory, float64(g.Memory), labels},
		{GPUPower, g.Power, labels},
		{GPUPowerLimit, g.PowerLimit, labels},
		{GPUTemperature, g.Temperature, labels},
		{GPUClock, g.Clock, append(labels[:4:4], "of", "multiprocessors")},
		{GPUClock, g.MemoryClock, append(labels[:4:4], "of", "memory")},
	} {
		if !math.IsNaN(sample.value) {
			to.Add(sample.metric, sample.value, sample.labels...)
		}
	}
	for _, reason := range g.Limits {
		to.Add(GPULimited, 1, append(labels[:4:4], "reason", reason)...)
	}
}
