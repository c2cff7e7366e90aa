package device

import (
	"fmt"
	"math"

	"tandem/algo/unit"
)

// Precision is the number format that a kernel multiplies in.
type Precision uint8

const (
	FP32 Precision = iota // on the ordinary units
	TF32                  // fp32 values on the matrix units, 10-bit mantissa
	Half                  // fp16 or bf16 on the matrix units
	precisions
)

// Kernel is work for an accelerator: like launches, one after another.
type Kernel struct {
	Launches  int        // number of launches, at least 1
	FLOPs     unit.FLOPs // of all launches
	Bytes     unit.Bytes // read and written in device memory by all launches
	Precision Precision
}

// Accelerator prices kernels by the roofline model.
type Accelerator struct {
	Name      string
	Memory    unit.Bytes
	Bandwidth unit.BytesPerSec
	Peak      [precisions]unit.FLOPsPerSec
	Launch    unit.Tick // overhead of one launch
	// ComputeShare and MemoryShare give the reached share of Peak by FLOPs of a
	// launch and of Bandwidth by bytes of a launch.
	ComputeShare, MemoryShare Curve
}

// Time returns what a kernel costs on an otherwise idle accelerator:
//
//	launches · launch + max(FLOPs / (peak · share(FLOPs)), bytes / (bandwidth · share(bytes)))
//
// Shares are looked up at the size of one launch. The result is rounded up to a
// nanosecond. It panics if launches, FLOPs or bytes are out of range.
//
// Source: Williams, Waterman, Patterson, "Roofline", CACM 52 (2009). Deviation:
// shares of peak depend on size.
func (a *Accelerator) Time(k Kernel) unit.Tick {
	if k.Launches < 1 || !(k.FLOPs >= 0) || k.Bytes < 0 {
		panic(fmt.Sprintf("device: kernel of %d launches, %v FLOPs, %d bytes, want at least 1, 0, 0", k.Launches, float64(k.FLOPs), k.Bytes))
	}
	launches := float64(k.Launches)
	flops, bytes := float64(k.FLOPs), float64(k.Bytes)
	compute := flops / (float64(a.Peak[k.Precision]) * a.ComputeShare.At(flops/launches))
	memory := bytes / (float64(a.Bandwidth) * a.MemoryShare.At(bytes/launches))
	return unit.Tick(k.Launches)*a.Launch + ticks(max(compute, memory))
}

// ticks rounds a time in seconds up to a nanosecond, forgiving a thousandth of
// one for rounding.
func ticks(seconds float64) unit.Tick {
	return unit.Tick(math.Ceil(float64(seconds*float64(unit.Second)) - 1e-3))
}

// Serial is a resource that does one thing at a time, first come, first served:
// a stream of kernels, a copy engine, a disk. The zero Serial is idle.
type Serial struct {
	free unit.Tick
	busy unit.Tick
}

// Run queues work that takes a given time and returns when it starts and ends.
// Now must not fall from call to call. Cost: O(1), since what comes first is
// never delayed by what comes later.
func (s *Serial) Run(now, takes unit.Tick) (start, end unit.Tick) {
	if takes < 0 {
		panic(fmt.Sprintf("device: work of %d ns, want at least 0", takes))
	}
	start = max(now, s.free)
	end = start + takes
	s.free = end
	s.busy += takes
	return start, end
}

// Busy returns the time spent working until now. Divided by now it is the
// utilisation. Now must not be before the last call of Run.
func (s *Serial) Busy(now unit.Tick) unit.Tick { return s.busy - max(0, s.free-now) }
