package predict

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"

	"tandem/sim/system"
)

// Predictions are off alike where the settings are nearly the same size, less so on another accelerator, and
// independently where they are four times apart; everywhere by as much as was measured.
func TestNeighboursAreOffAlike(t *testing.T) {
	const samples, single = 4096, 0.1
	errorsOf := func(preset string, gpus, batch int) []float64 {
		j, _, err := New(Choice{Preset: preset, GPUs: gpus, Model: "criteo", GlobalBatch: batch})
		if err != nil {
			t.Fatal(err)
		}
		j.Hardware.System.Accuracy = &system.Accuracy{Single: single}
		return j.errors(samples)
	}
	of := errorsOf("dgx-h100", 64, 64*1024)
	for _, c := range []struct {
		what      string
		errors    []float64
		low, high float64 // correlation
	}{
		{"the same", errorsOf("dgx-h100", 64, 64*1024), 1, 1},
		{"56 GPUs", errorsOf("dgx-h100", 56, 56*1024), 0.9, 0.999},
		{"a ninth more samples", errorsOf("dgx-h100", 64, 72*1024), 0.9, 0.999},
		{"48 GPUs", errorsOf("dgx-h100", 48, 48*1024), 0.6, 0.9},
		{"twice the GPUs", errorsOf("dgx-h100", 128, 128*1024), 0.22, 0.35},
		{"other GPUs", errorsOf("dgx-a100", 64, 64*1024), alike - 0.05, alike + 0.05},
		{"four times the GPUs", errorsOf("dgx-h100", 256, 256*1024), -0.05, 0.05},
		{"a quarter of the samples", errorsOf("dgx-h100", 64, 16*1024), -0.05, 0.05},
	} {
		if r := stat.Correlation(of, c.errors, nil); !(r > c.low-1e-9 && r < c.high+1e-9) {
			t.Errorf("%s: correlation %.3f, want %v to %v", c.what, r, c.low, c.high)
		}
		if s := stat.StdDev(c.errors, nil); math.Abs(s-single) > 0.05*single {
			t.Errorf("%s: spread %.4f, want %v", c.what, s, single)
		}
	}
	of48, of96 := errorsOf("dgx-h100", 48, 48*1024), errorsOf("dgx-h100", 96, 96*1024)
	if r := stat.Correlation(of48, of96, nil); !(r > 0.22 && r < 0.35) {
		t.Errorf("48 and 96 GPUs: correlation %.3f, want that of 64 and 128", r)
	}
}
