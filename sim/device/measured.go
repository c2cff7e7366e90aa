package device

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"tandem/algo/quantity"
	"tandem/algo/unit"
)

// MeasuredTime is the time of one operation over repetitions: lower quartile, median and upper quartile.
type MeasuredTime struct{ Low, Mid, High unit.Nanos }

// MeasuredProduct is the time of a matrix product, one launch.
type MeasuredProduct struct {
	Precision Precision
	FLOPs     unit.FLOPs
	Time      MeasuredTime
}

// MeasuredTraffic is the time of a launch that moves bytes.
type MeasuredTraffic struct {
	Row   unit.Bytes // the bytes of a row at a random place; 0 for a stream
	Bytes unit.Bytes // read and written in device memory
	Time  MeasuredTime
}

// MeasuredAccelerator holds measurements of an accelerator and what its driver tells.
type MeasuredAccelerator struct {
	Name         string
	Source, Date string     // of all measurements: "measured by … on …", YYYY-MM-DD
	Memory       unit.Bytes // told by the driver, as the next four
	Units        int
	Cache        unit.Bytes       // 0: not told
	Bandwidth    unit.BytesPerSec // of memory clock and bus; 0: not told
	PeakFP32     unit.FLOPsPerSec // of clock and units; 0: not known

	Launch   MeasuredTime // of an empty launch after another
	Products []MeasuredProduct
	Streams  []MeasuredTraffic
	Rows     []MeasuredTraffic
	// In and Out are copies from pinned memory of the host and to it, by ascending size.
	In, Out []MeasuredTraffic
}

// Profile returns the profile of the accelerator. Like is a profile of the same kind of accelerator, or nil:
// peaks that the driver cannot tell, the price and the wires are from there. A peak that neither knows, or
// that a measurement exceeds, is the best measured rate. Peaks have no ranges: the shares of them have.
//
// The share of a launch is the time that its bytes or FLOPs take at the peak, relative to its time less that
// of an empty launch. Equal sizes of several shapes count by their mean. A size whose work takes less than
// half an empty launch is left out, unless there is no other. A size that took less time than a smaller one
// counts as taking as long. The spread of a curve is the largest deviation of a quartile.
func (m *MeasuredAccelerator) Profile(like *AcceleratorProfile) (*AcceleratorProfile, error) {
	if like == nil {
		like = new(AcceleratorProfile)
	}
	products, streams, rows := [precisions][]observation{}, observe(m.Streams), observe(m.Rows)
	for _, x := range m.Products {
		size := float64(x.FLOPs)
		products[x.Precision] = append(products[x.Precision], observation{size, size, x.Time})
	}
	for _, needed := range []struct {
		what string
		of   []observation
	}{{"products in fp32", products[FP32]}, {"products in half precision", products[Half]},
		{"streams", streams}, {"rows", rows}} {
		if len(needed.of) == 0 {
			return nil, fmt.Errorf("no %s were measured; measure at least one size", needed.what)
		}
	}
	for _, x := range slices.Concat(products[FP32], products[TF32], products[Half], streams, rows,
		[]observation{{1, 1, m.Launch}}) {
		if err := x.check(); err != nil {
			return nil, err
		}
	}
	p := &AcceleratorProfile{
		Name: m.Name, Memory: told(m, m.Memory, "", quantity.Measured),
		Units:          told(m, m.Units, "", quantity.Measured),
		Cache:          known(told(m, m.Cache, "", quantity.Measured), like.Cache),
		Launch:         m.launch(),
		DollarsPerHour: like.DollarsPerHour, Inside: like.Inside, HostLink: like.HostLink, Port: like.Port,
	}
	p.MemoryBandwidth = peakOf(m, streams,
		told(m, m.Bandwidth, "memory clock and width of the bus, ", quantity.Default), like.MemoryBandwidth)
	p.PeakFP32 = peakOf(m, products[FP32], like.PeakFP32,
		told(m, m.PeakFP32, "clock, multiprocessors, and the fp32 cores of one of this generation, ",
			quantity.Default))
	p.PeakHalf = peakOf(m, products[Half], like.PeakHalf)
	p.ComputeShare = curveOf[unit.FLOPs](m, products[Half], float64(p.PeakHalf.Mid))
	p.ComputeShareFP32 = curveOf[unit.FLOPs](m, products[FP32], float64(p.PeakFP32.Mid))
	if len(products[TF32]) > 0 {
		p.PeakTF32 = peakOf(m, products[TF32], like.PeakTF32)
		p.ComputeShareTF32 = curveOf[unit.FLOPs](m, products[TF32], float64(p.PeakTF32.Mid))
	}
	p.MemoryShare = curveOf[unit.Bytes](m, streams, float64(p.MemoryBandwidth.Mid))
	p.RowShare = curveOf[unit.Bytes](m, rows, float64(p.MemoryBandwidth.Mid))
	return p, p.Validate()
}

// HostLink returns the wire between the host and the accelerator: the rate of the largest copies, and as
// latency what the smallest take beyond their bytes at that rate. The slower direction counts.
func (m *MeasuredAccelerator) HostLink(name string) (*WireProfile, error) {
	if len(m.In) == 0 || len(m.Out) == 0 {
		return nil, errors.New("no copies were measured; measure at least one size in each direction")
	}
	slower := m.In
	if rate(m.Out) < rate(m.In) {
		slower = m.Out
	}
	first, last := slower[0], slower[len(slower)-1]
	of := func(t unit.Nanos) unit.BytesPerSec {
		return unit.BytesPerSec(digits(float64(last.Bytes)/float64(t)*1e9, always))
	}
	left := func(t unit.Nanos) unit.Tick {
		return unit.Tick(max(1, math.Round(float64(t)-float64(first.Bytes)/rate(slower)*1e9)))
	}
	w := &WireProfile{
		Name: name,
		Bandwidth: quantity.Value[unit.BytesPerSec]{Low: of(last.Time.High), Mid: of(last.Time.Mid),
			High: of(last.Time.Low), Kind: quantity.Measured, Date: m.Date,
			Source: fmt.Sprintf("copies of %v, pinned, median and quartiles; %s", last.Bytes, m.Source)},
		Share: quantity.Value[float64]{Mid: 1, Kind: quantity.Measured, Date: m.Date,
			Source: "the bandwidth is that which copies reach; " + m.Source},
		Latency: quantity.Value[unit.Tick]{Low: left(first.Time.Low), Mid: left(first.Time.Mid),
			High: left(first.Time.High), Kind: quantity.Measured, Date: m.Date,
			Source: fmt.Sprintf("copies of %v, pinned, in a graph, median and quartiles; %s", first.Bytes,
				m.Source)},
	}
	return w, w.Validate()
}

// rate returns the bytes a second of the largest traffic.
func rate(all []MeasuredTraffic) float64 {
	last := all[len(all)-1]
	return float64(last.Bytes) / float64(last.Time.Mid) * 1e9
}

// known returns the first quantity that is known.
func known[U quantity.Number](all ...quantity.Value[U]) (none quantity.Value[U]) {
	for _, q := range all {
		if q.Given() {
			return q
		}
	}
	return none
}

// told returns a quantity that the driver tells, or none if it is 0.
func told[U quantity.Number](m *MeasuredAccelerator, value U, what string,
	kind quantity.Kind) quantity.Value[U] {
	if value == 0 {
		return quantity.Value[U]{}
	}
	return quantity.Value[U]{Mid: value, Kind: kind, Source: what + "told by the driver; " + m.Source,
		Date: m.Date}
}

// launch returns the time of an empty launch, in whole nanoseconds.
func (m *MeasuredAccelerator) launch() quantity.Value[unit.Tick] {
	of := func(t unit.Nanos) unit.Tick { return unit.Tick(max(1, math.Round(float64(t)))) }
	q := quantity.Value[unit.Tick]{Mid: of(m.Launch.Mid), Kind: quantity.Measured,
		Source: "an empty kernel and the gap before it in a graph, median and quartiles; " + m.Source,
		Date:   m.Date}
	if low, high := of(m.Launch.Low), of(m.Launch.High); low < high {
		q.Low, q.High = low, high
	}
	return q
}

// observation is the time of a launch. Work is what it does, and size where the curve has it: both are its
// FLOPs or bytes, but for rows, whose size is that of one.
type observation struct {
	size, work float64
	time       MeasuredTime
}

// check returns an error about an observation that has no rate.
func (x observation) check() error {
	t := x.time
	if x.size > 0 && x.work > 0 && 1 <= t.Low && t.Low <= t.Mid && t.Mid <= t.High &&
		!math.IsInf(float64(t.High), 0) {
		return nil
	}
	return fmt.Errorf("%g FLOPs or bytes were measured with the quartiles %v, %v and %v; want them in "+
		"order, from 1 ns up", x.work, t.Low, t.Mid, t.High)
}

func observe(all []MeasuredTraffic) (observed []observation) {
	for _, x := range all {
		observed = append(observed, observation{float64(cmp.Or(x.Row, x.Bytes)), float64(x.Bytes), x.Time})
	}
	return observed
}

// peakOf returns the first peak that is known, or the best measured rate if that is more or no peak is known.
func peakOf[U ~float64](m *MeasuredAccelerator, observed []observation,
	peaks ...quantity.Value[U]) quantity.Value[U] {
	best := 0.0
	for _, x := range alone(observed, m.Launch.Mid) {
		best = max(best, x.work/float64(x.time.Mid)*1e9)
	}
	best = digits(best, always)
	q := known(peaks...)
	if float64(q.Mid) >= best {
		return q
	}
	source := "the best rate that was measured, as no peak is known; " + m.Source
	if q.Given() {
		source = "the best rate that was measured, which exceeds the known peak; " + m.Source
	}
	return quantity.Value[U]{Mid: U(best), Kind: quantity.Measured, Source: source, Date: m.Date}
}

// work returns the time of a launch less that of an empty one, but at least a tenth of it: the launch
// overlaps the end of the one before.
func work(t MeasuredTime, launch unit.Nanos) MeasuredTime {
	of := func(t unit.Nanos) unit.Nanos { return max(t-launch, t/10) }
	return MeasuredTime{of(t.Low), of(t.Mid), of(t.High)}
}

// always accepts every number.
func always(float64) bool { return true }

// digits rounds a positive number to four significant digits, and further down until it is valid.
func digits(x float64, valid func(float64) bool) float64 {
	scale := math.Pow(10, 3-math.Floor(math.Log10(x)))
	n := math.Round(float64(x * scale))
	for !valid(n / scale) {
		n--
	}
	return n / scale
}
