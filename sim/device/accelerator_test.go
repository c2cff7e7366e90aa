package device

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/quantity"
	"tandem/algo/unit"
)

// near compares to 1e-9 of the size, for sums in another order.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) }

// testAccelerator has 1 TFLOP/s in fp32, half reached by tiny launches and all from 1 GFLOP on, which take as
// long as 8 GFLOP in half precision; 100 GB/s, all reached; 10 µs a launch.
func testAccelerator() *Accelerator {
	return &Accelerator{
		Bandwidth:    100e9,
		Peak:         [precisions]unit.FLOPsPerSec{1e12, 2e12, 8e12},
		Launch:       10 * unit.Microsecond,
		ComputeShare: Curve{Sizes: []float64{0, 8e9}, Shares: []float64{0.5, 1}},
		MemoryShare:  Curve{Sizes: []float64{0}, Shares: []float64{1}},
	}
}

func TestKernelTime(t *testing.T) {
	tests := []struct {
		name   string
		kernel Kernel
		want   unit.Tick
	}{
		{"launch only", Kernel{Launches: 3}, 30_000},
		// 1e9 / 1e12 = 1 ms, memory 1e6/1e11 = 10 µs.
		{"compute bound", Kernel{Launches: 1, FLOPs: 1e9, Bytes: 1e6}, 1_010_000},
		// Share 0.75 at half the size: 5e8 / 7.5e11 = 666,666.7 ns.
		{"smaller launch", Kernel{Launches: 1, FLOPs: 5e8}, 676_667},
		// Two launches of that size, at 0.75 still.
		{"two launches", Kernel{Launches: 2, FLOPs: 1e9}, 1_353_334},
		// 1e9 / 1e11 = 10 ms.
		{"memory bound", Kernel{Launches: 1, FLOPs: 1e9, Bytes: 1e9}, 10_010_000},
		{"half precision", Kernel{Launches: 1, FLOPs: 8e9, Precision: Half}, 1_010_000},
		// Share 0.75 as for the smaller launch, which takes as long at its peak.
		{"smaller in half precision", Kernel{Launches: 1, FLOPs: 4e9, Precision: Half}, 676_667},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := testAccelerator().Time(test.kernel); got != test.want {
				t.Errorf("Time = %d ns, want %d", got, test.want)
			}
		})
	}
}

// Linear in size: halfway in size is halfway in share, which a logarithmic axis would put at the geometric
// mean of the sizes.
func TestCurveIsLinearInSize(t *testing.T) {
	c := Curve{Sizes: []float64{1, 100}, Shares: []float64{0.2, 0.8}}
	for size, want := range map[float64]float64{0: 0.2, 1: 0.2, 50.5: 0.5, 100: 0.8, 1e9: 0.8} {
		if got := c.At(size); !near(got, want) {
			t.Errorf("At(%v) = %v, want %v", size, got, want)
		}
	}
}

// On every built-in accelerator more work never takes less time, and no kernel beats the peak.
func TestTimeGrowsWithWork(t *testing.T) {
	var devices []*Accelerator
	for _, name := range Accelerators.Names() {
		p, err := LoadAccelerator(name)
		if err != nil {
			t.Fatal(err)
		}
		devices = append(devices, p.Resolve(0))
	}
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SampledFrom(devices).Draw(t, "device")
		k := Kernel{
			Launches:  rapid.IntRange(1, 100).Draw(t, "launches"),
			FLOPs:     unit.FLOPs(rapid.Float64Range(0, 1e13).Draw(t, "flops")),
			Bytes:     unit.Bytes(rapid.Int64Range(0, 1e11).Draw(t, "bytes")),
			Precision: Precision(rapid.IntRange(0, int(precisions)-1).Draw(t, "precision")),
		}
		more := k
		more.FLOPs *= unit.FLOPs(rapid.Float64Range(1, 3).Draw(t, "more flops"))
		more.Bytes += unit.Bytes(rapid.Int64Range(0, 1e10).Draw(t, "more bytes"))
		if a.Time(more) < a.Time(k) {
			t.Fatalf("%+v takes %d ns, %+v only %d", k, a.Time(k), more, a.Time(more))
		}
		if least := float64(k.FLOPs) / float64(a.Peak[k.Precision]); a.Time(k).Seconds() < least {
			t.Fatalf("%+v takes %d ns, less than peak allows", k, a.Time(k))
		}
	})
}

func TestCurveThatRewardsWorkIsRefused(t *testing.T) {
	p := CurveProfile[unit.Bytes]{
		// Ten times the bytes at eleven times the speed.
		Points: []CurvePoint[unit.Bytes]{{1000, 0.05}, {10_000, 0.55}},
		Kind:   quantity.Default, Source: "test", Date: "2020",
	}
	want := "size 10kB: share rises from 0.05 to 0.55, by a larger factor than the size from 1kB, so that " +
		"more work takes less time; want at most 0.5"
	if err := p.Validate(); err == nil || err.Error() != want {
		t.Errorf("Validate = %v, want %s", err, want)
	}
	p.Points[1].Share = 0.5
	if err := p.Validate(); err != nil {
		t.Errorf("Validate of a curve at the limit = %v", err)
	}
}

// In binary, 0.009 · 3000 is less than 0.027 · 1000. The limit 0.1234567 · 3 = 0.3703701 may be exceeded by a
// millionth, 4e-7.
func TestCurveAtTheLimitMayBeRounded(t *testing.T) {
	for _, c := range []struct {
		before, share float64
		factor        unit.Bytes
		valid         bool
	}{
		{0.009, 0.027, 3, true}, {0.071, 0.355, 5, true}, {0.009, 0.02701, 3, false},
		{0.1234567, 0.3703704, 3, true}, {0.1234567, 0.3703706, 3, false},
	} {
		p := CurveProfile[unit.Bytes]{
			Points: []CurvePoint[unit.Bytes]{{1000, c.before}, {1000 * c.factor, c.share}},
			Kind:   quantity.Default, Source: "test", Date: "2020",
		}
		if err := p.Validate(); (err == nil) != c.valid {
			t.Errorf("%v after %v at %d times the size: %v", c.share, c.before, c.factor, err)
		}
	}
}

// A first size of 0 leaves the second share free.
func TestCurveFromZeroMayRise(t *testing.T) {
	p := CurveProfile[unit.Bytes]{Points: []CurvePoint[unit.Bytes]{{0, 0.01}, {1, 1}},
		Kind: quantity.Default, Source: "test", Date: "2020"}
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
}
