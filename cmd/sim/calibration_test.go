package main

import (
	"math"
	"testing"
	"time"

	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/runtime/cuda"
	"tandem/runtime/cuda/calibrate"
	"tandem/sim/device"
)

// same is a time of which all repetitions are equal.
func same(t unit.Nanos) calibrate.Times {
	return calibrate.Times{Low: t, Mid: t, High: t, Repetitions: 5}
}

// byHand is a measurement of a device with a launch of 1 µs, products of 1 GFLOP in 101 µs, memory that
// streams 160 GB/s, and copies of 16 GB/s in and 13 GB/s out.
func byHand(i cuda.Info) *calibrate.Result {
	r := &calibrate.Result{Device: i, Driver: "12.4", GraphLaunch: same(1e3), StreamLaunch: same(2e3),
		Streams: []calibrate.Transfer{{Bytes: 16e6, Times: same(101e3)}},
		Rows:    []calibrate.Rows{{Row: 128, Bytes: 8e6, Times: same(101e3)}},
		In:      []calibrate.Transfer{{Bytes: 4e3, Times: same(6e3)}, {Bytes: 16e6, Times: same(1e6)}},
		Out:     []calibrate.Transfer{{Bytes: 13e6, Times: same(1e6)}}}
	for _, t := range calibrate.Types(i) {
		r.Products = append(r.Products, calibrate.Product{Times: same(101e3),
			Product: cuda.Product{Rows: 500, Columns: 1000, Inner: 1000, Type: t}})
	}
	return r
}

// near reports whether two numbers differ by at most a hundredth.
func near(a, b float64) bool { return math.Abs(a/b-1) <= 0.01 }

// What a driver tells makes the peaks of NVIDIA's data sheets, which the built-in profiles have.
//
// Source of the driver's facts: output of NVIDIA's deviceQuery for a Tesla T4
// (chiemon.github.io/2024/12/25/显卡信息.html) and for the A100 of Paderborn's Noctua 2
// (upb-pc2.atlassian.net/wiki/spaces/PC2DOK/pages/1900609).
func TestToldFactsMakeThePeaksOfTheDataSheet(t *testing.T) {
	for _, info := range []cuda.Info{
		{Name: "Tesla T4", Major: 7, Minor: 5, Processors: 40, ClockKHz: 1_590_000,
			MemoryClockKHz: 5_001_000, BusBits: 256, CacheBytes: 4194304, Memory: 15843721216},
		{Name: "NVIDIA A100-SXM4-40GB", Major: 8, Minor: 0, Processors: 108, ClockKHz: 1_410_000,
			MemoryClockKHz: 1_215_000, BusBits: 5120, CacheBytes: 41943040, Memory: 42405855232},
	} {
		sheet, err := device.LoadAccelerator(device.AcceleratorOf(info.Name))
		if err != nil {
			t.Fatal(err)
		}
		m := measuredAccelerator(byHand(info), time.Now())
		if !near(float64(m.PeakFP32), float64(sheet.PeakFP32.Mid)) ||
			!near(float64(m.Bandwidth), float64(sheet.MemoryBandwidth.Mid)) || m.Units != sheet.Units.Mid {
			t.Errorf("%s: %v, %v, %d units; its data sheet has %v, %v, %d", info.Name, m.PeakFP32,
				m.Bandwidth, m.Units, sheet.PeakFP32.Mid, sheet.MemoryBandwidth.Mid, sheet.Units.Mid)
		}
	}
}

// A profile has the rates of the measurement, below the peaks of a like profile or in their place.
func TestCalibratedProfile(t *testing.T) {
	sheet, err := device.LoadAccelerator("T4")
	if err != nil {
		t.Fatal(err)
	}
	m := measuredAccelerator(byHand(cuda.Info{Name: "Tesla T4", Major: 7, Minor: 5, Processors: 40,
		Memory: 16e9, CacheBytes: 4 << 20}), time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC))
	m.Name = "own"
	p, err := m.Profile(sheet)
	if err != nil {
		t.Fatal(err)
	}
	for what, rates := range map[string][2]float64{
		"products in fp32": {10e12, float64(p.PeakFP32.Mid) * p.ComputeShareFP32.Points[0].Share},
		"products in half": {10e12, float64(p.PeakHalf.Mid) * p.ComputeShare.Points[0].Share},
		"streams":          {160e9, float64(p.MemoryBandwidth.Mid) * p.MemoryShare.Points[0].Share},
		"rows":             {80e9, float64(p.MemoryBandwidth.Mid) * p.RowShare.Points[0].Share},
	} {
		if !near(rates[0], rates[1]) {
			t.Errorf("%s: rate %v, measured %v", what, rates[1], rates[0])
		}
	}
	if p.PeakTF32.Given() || p.PeakHalf != sheet.PeakHalf || p.PeakFP32.Kind != quantity.Measured ||
		p.Launch.Date != "2026-11-24" {
		t.Errorf("profile %+v", p)
	}
}

// Types go to their precisions, and the wire is the one whose rate is nearest to the slower copy.
func TestMeasurementsReachTheSimulator(t *testing.T) {
	r := byHand(cuda.Info{Name: "NVIDIA H100 80GB HBM3", Major: 9, Processors: 132})
	m := measuredAccelerator(r, time.Now())
	var got []device.Precision
	for _, p := range m.Products {
		got = append(got, p.Precision)
		if p.FLOPs != 1e9 {
			t.Errorf("a product has %v", p.FLOPs)
		}
	}
	if len(got) != 4 || got[0] != device.FP32 || got[1] != device.TF32 || got[2] != device.Half ||
		got[3] != device.Half {
		t.Errorf("precisions %v", got)
	}
	if len(m.Streams) != 1 || len(m.Rows) != 1 || len(m.In) != 2 || len(m.Out) != 1 ||
		m.In[1] != (device.MeasuredTraffic{Bytes: 16e6, Time: device.MeasuredTime{Low: 1e6, Mid: 1e6,
			High: 1e6}}) {
		t.Errorf("streams %v, rows %v, copies %v and %v", m.Streams, m.Rows, m.In, m.Out)
	}
	for out, want := range map[unit.Bytes]string{13e6: "pcie3-x16", 26e6: "pcie4-x16", 1e6: "pcie3-x16"} {
		r.In, r.Out = []calibrate.Transfer{{Bytes: 55e6, Times: same(1e6)}},
			[]calibrate.Transfer{{Bytes: out, Times: same(1e6)}}
		if wire, err := nearestWire(r); err != nil || wire.Name != want {
			t.Errorf("%v a millisecond: %+v, want %s; error %v", out, wire, want, err)
		}
	}
	for name, want := range map[string]string{r.Device.Name: "H100-SXM5", "NVIDIA H200": "H200-SXM",
		"NVIDIA A100-SXM4-80GB": "A100-SXM4-80GB", "Tesla V100-SXM2-32GB": "V100-SXM2-32GB",
		"NVIDIA GeForce RTX 3090": "", "NVIDIA L40S": ""} {
		if got := device.AcceleratorOf(name); got != want {
			t.Errorf("a %s has the profile %q, want %q", name, got, want)
		}
	}
}
