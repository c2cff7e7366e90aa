package device

import (
	"fmt"
	"math"

	"tandem/algo/unit"
)

// Precision is the number format in which a kernel multiplies.
type Precision uint8

const (
	FP32 Precision = iota // on the ordinary units
	TF32                  // fp32 values on the matrix units, 10-bit mantissa
	Half                  // fp16 or bf16 on the matrix units
	precisions
)

// Kernel is work for an accelerator: equal launches, one after another.
type Kernel struct {
	Launches  int        // number of launches, at least 1
	FLOPs     unit.FLOPs // of all launches
	Bytes     unit.Bytes // read and written in device memory by all launches
	Precision Precision
	// Fill is the part of the device's units that a launch keeps busy, relative to a very large launch, if it
	// is known from the shape of the work: see MatMul. 0 means that it follows from the FLOPs of a launch.
	Fill float64
}

// Accelerator prices kernels by the roofline model.
type Accelerator struct {
	Name      string
	Memory    unit.Bytes
	Bandwidth unit.BytesPerSec
	Peak      [precisions]unit.FLOPsPerSec
	Units     int        // streaming multiprocessors or compute units
	Cache     unit.Bytes // last level
	Launch    unit.Tick  // overhead of one launch on the device
	// ComputeShare is the share of Peak[Half] that a launch in half precision reaches, by its FLOPs.
	// MemoryShare is the share of Bandwidth that a launch reaches, by its bytes. RowShare is the share of
	// Bandwidth that accesses to rows at random addresses reach, by the bytes of a row.
	ComputeShare, MemoryShare, RowShare Curve
	// OwnShare has the shares of the peaks of other precisions, by FLOPs in that precision. One without
	// points is that of ComputeShare: see Time.
	OwnShare [precisions]Curve
	// DollarsPerHour is the list price, or 0 if there is none.
	DollarsPerHour unit.Dollars
}

// Time returns the time of a kernel on an otherwise idle accelerator:
//
//	launches · launch + max(FLOPs / (peak · share(FLOPs · half / peak)), bytes / (bandwidth · share(bytes)))
//
// Shares are looked up at the size of one launch. Launches that would take equally long at their peaks reach
// equal shares of them, because a launch loses its share while it fills and drains the device; so the curve
// for half precision, whose peak is half, serves every precision without a curve of its own. If k has a fill,
// the share of the peak is that of a very large launch times the fill. The result is rounded up to a
// nanosecond. It panics if launches, FLOPs or bytes are out of range.
//
// Source: Williams, Waterman, Patterson, "Roofline", CACM 52 (2009). Deviation: shares of peak depend on
// size.
func (a *Accelerator) Time(k Kernel) unit.Tick {
	if k.Launches < 1 || !(k.FLOPs >= 0) || k.Bytes < 0 {
		panic(fmt.Sprintf("device: kernel of %d launches, %v FLOPs, %d bytes, want at least 1, 0, 0",
			k.Launches, float64(k.FLOPs), k.Bytes))
	}
	launches := float64(k.Launches)
	flops, bytes := float64(k.FLOPs), float64(k.Bytes)
	peak := float64(a.Peak[k.Precision])
	curve, factor := a.ComputeShare, float64(a.Peak[Half])/peak
	if own := a.OwnShare[k.Precision]; len(own.Sizes) > 0 {
		curve, factor = own, 1
	}
	share := curve.At(flops / launches * factor)
	if k.Fill > 0 {
		share = k.Fill * curve.At(math.Inf(1))
	}
	compute := flops / (peak * share)
	memory := bytes / (float64(a.Bandwidth) * a.MemoryShare.At(bytes/launches))
	return unit.Tick(k.Launches)*a.Launch + ticks(max(compute, memory))
}

// ticks rounds a time in seconds up to a nanosecond. An excess of up to a thousandth of a nanosecond counts
// as rounding.
func ticks(seconds float64) unit.Tick {
	return unit.Tick(math.Ceil(float64(seconds*float64(unit.Second)) - 1e-3))
}
