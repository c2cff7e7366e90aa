package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"tandem/algo/unit"
	"tandem/runtime/cuda"
	"tandem/runtime/cuda/calibrate"
	"tandem/sim/device"
)

// fp32Cores are the fp32 cores of a multiprocessor, by compute capability; each does a multiply-add a cycle.
//
// Source: NVIDIA, CUDA C++ Programming Guide 12, throughput of native arithmetic instructions; its samples
// count as many cores (helper_cuda.h).
var fp32Cores = map[[2]int]float64{{5, 0}: 128, {5, 2}: 128, {5, 3}: 128, {6, 0}: 64, {6, 1}: 128,
	{6, 2}: 128, {7, 0}: 64, {7, 2}: 64, {7, 5}: 64, {8, 0}: 64, {8, 6}: 128, {8, 7}: 128, {8, 9}: 128,
	{9, 0}: 128}

// measuredAccelerator returns measurements as the simulator takes them.
func measuredAccelerator(r *calibrate.Result, now time.Time) *device.MeasuredAccelerator {
	i := r.Device
	date := now.Format(time.DateOnly)
	m := &device.MeasuredAccelerator{
		Source: fmt.Sprintf("cmd/sim calibrate on %s, driver for CUDA %s, %s", i.Name, r.Driver, date),
		Date:   date, Memory: i.Memory, Units: i.Processors, Cache: unit.Bytes(i.CacheBytes),
		// The memory moves two bits a cycle and wire.
		Bandwidth: unit.BytesPerSec(2 * 1e3 * float64(i.MemoryClockKHz) * float64(i.BusBits) / 8),
		PeakFP32: unit.FLOPsPerSec(2 * 1e3 * float64(i.ClockKHz) * float64(i.Processors) *
			fp32Cores[[2]int{i.Major, i.Minor}]),
		Launch: device.MeasuredTime{Low: r.GraphLaunch.Low, Mid: r.GraphLaunch.Mid, High: r.GraphLaunch.High},
	}
	times := func(t calibrate.Times) device.MeasuredTime {
		return device.MeasuredTime{Low: t.Low, Mid: t.Mid, High: t.High}
	}
	for _, p := range r.Products {
		m.Products = append(m.Products, device.MeasuredProduct{Precision: precision(p.Type),
			FLOPs: calibrate.FLOPs(p.Product), Time: times(p.Times)})
	}
	for _, x := range r.Rows {
		m.Rows = append(m.Rows, device.MeasuredTraffic{Row: x.Row, Bytes: x.Bytes, Time: times(x.Times)})
	}
	for to, all := range map[*[]device.MeasuredTraffic][]calibrate.Transfer{&m.Streams: r.Streams,
		&m.In: r.In, &m.Out: r.Out} {
		for _, x := range all {
			*to = append(*to, device.MeasuredTraffic{Bytes: x.Bytes, Time: times(x.Times)})
		}
	}
	return m
}

// precision returns the simulator's precision of products of a type.
func precision(t cuda.Type) device.Precision {
	switch t {
	case cuda.F32:
		return device.FP32
	case cuda.TF32:
		return device.TF32
	}
	return device.Half
}

// nearestWire returns the built-in wire between host and accelerators whose rate is nearest to that of the
// largest copies, by their ratio. The slower direction counts.
func nearestWire(r *calibrate.Result) (nearest *device.WireProfile, err error) {
	least := math.Inf(1)
	rate := min(rateOf(r.In), rateOf(r.Out))
	for _, name := range device.Wires.Names() {
		if !strings.HasPrefix(name, "pcie") {
			continue
		}
		w, err := device.LoadWire(name)
		if err != nil {
			return nil, err
		}
		if distance := math.Abs(math.Log(rate / float64(w.Resolve(0).Bandwidth))); distance < least {
			least, nearest = distance, w
		}
	}
	return nearest, nil
}

// rateOf returns the bytes a second of the largest transfer.
func rateOf(all []calibrate.Transfer) float64 {
	last := all[len(all)-1]
	return float64(last.Bytes) / float64(last.Mid) * 1e9
}
