//go:build cgo && linux && !static

package gpuhealth

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tandem/runtime/cuda/softgpu"
	"tandem/runtime/metrics"
)

// Everything that NVML tells reaches a reading, of the GPUs that were asked for and in their units; what it
// does not tell is NaN. A GPU that is lost is named, and the other is read.
func TestRead(t *testing.T) {
	driver := softgpu.Open(t, 2)
	all, err := driver.Devices()
	if err != nil {
		t.Fatal(err)
	}
	lost, err := driver.Open(1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lost.Alloc(1 << 20); err != nil {
		t.Fatal(err)
	}
	softgpu.Set(t, "TANDEM_SOFTGPU_THROTTLED", "97") // idle, a thermal slowdown in software and in hardware
	w, err := Open(filepath.Join(softgpu.Folder(t), "libnvidia-ml.so.1"), []string{all[1].UUID, all[0].UUID})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	if got := w.Driver(); got != "550.0" {
		t.Errorf("driver %q, want 550.0", got)
	}
	got, err := w.Read()
	if err != nil {
		t.Fatal(err)
	}
	slow := []string{"sw-thermal-slowdown", "hw-thermal-slowdown"}
	zero := metrics.GPU{Name: "Tandem software GPU", UUID: all[0].UUID, Utilisation: 0.6,
		Memory: all[0].Memory, Power: 123, PowerLimit: math.NaN(),
		Temperature: 50, Clock: 1e9, MemoryClock: 2e9, Limits: slow}
	one := zero
	one.UUID, one.Utilisation, one.Power, one.Temperature = all[1].UUID, 0.61, 124, 51
	one.MemoryUsed = 1 << 20
	if diff := cmp.Diff([]metrics.GPU{one, zero}, got, cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
	softgpu.Set(t, "TANDEM_SOFTGPU_LOST_AFTER", "1:0")
	if m, err := lost.Alloc(4); err == nil {
		stream, err := lost.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		_ = stream.Clear(m.Address, 4) // is the work with which it is lost
		_ = stream.Sync()
	}
	got, err = w.Read()
	if len(got) != 1 || got[0].UUID != zero.UUID || err == nil ||
		!strings.Contains(err.Error(), "GPU-"+one.UUID+": GPU is lost") {
		t.Errorf("%+v, %v; want cuda:0 alone, and that the other is lost", got, err)
	}
}

// A GPU of NVIDIA has the name and the memory that its driver tells, and every figure that is read is
// possible.
func TestReadHardware(t *testing.T) {
	softgpu.Hardware(t)
	all, err := softgpu.Open(t, 1).Devices()
	if err != nil {
		t.Fatal(err)
	}
	w, err := Open("", []string{all[0].UUID})
	if err != nil {
		t.Fatal(err)
	}
	read, err := w.Read()
	if err != nil || len(read) != 1 {
		t.Fatalf("%+v, %v", read, err)
	}
	got := read[0]
	t.Logf("driver %s: %+v", w.Driver(), got)
	if got.Name != all[0].Name || got.UUID != all[0].UUID || got.Memory < all[0].Memory {
		t.Errorf("want %+v", all[0])
	}
	for what, f := range map[string]struct{ got, least, most float64 }{
		"utilisation": {got.Utilisation, 0, 1}, "power in W": {got.Power, 1, 2000},
		"temperature in °C": {got.Temperature, 1, 120}, "clock in Hz": {got.Clock, 1e8, 4e9},
		"clock of the memory in Hz": {got.MemoryClock, 1e8, 2e10},
	} {
		if !(f.got >= f.least && f.got <= f.most) {
			t.Errorf("%s: %v", what, f.got)
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// A library that is not there, that does not start, or has no such GPU is an error that says so.
func TestOpenFails(t *testing.T) {
	library := filepath.Join(softgpu.Folder(t), "libnvidia-ml.so.1")
	softgpu.Open(t, 1)
	for want, open := range map[string]func() (*Watch, error){
		"NVML does not start: ERROR_LIBRARY_NOT_FOUND": func() (*Watch, error) {
			return Open(filepath.Join(t.TempDir(), "none.so"), nil)
		},
		"NVML does not start: Driver Not Loaded": func() (*Watch, error) {
			softgpu.Set(t, "TANDEM_SOFTGPU_NO_NVML", "1")
			defer softgpu.Set(t, "TANDEM_SOFTGPU_NO_NVML", "")
			return Open(library, nil)
		},
		"GPU-of-others: Not Found": func() (*Watch, error) { return Open(library, []string{"of-others"}) },
	} {
		if _, err := open(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
}
