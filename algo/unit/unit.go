// Package unit gives every physical quantity a type of its own, so that bytes
// are never added to nanoseconds and a number is never printed without its
// unit.
//
// Text forms carry units ("25Gbps", "936ns", "12TB", "15.7TFLOP/s") and are
// parsed by the types themselves, so a job file needs no second convention.
package unit

// Tick is a point on, or a distance along, a driver's time axis, in
// nanoseconds. The simulator counts from the start of the simulated run, the
// runtime from the start of the process's run.
type Tick int64

// Ticks of common length.
const (
	Nanosecond  Tick = 1
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
	Minute           = 60 * Second
	Hour             = 60 * Minute
)

// Forever is later than any instant that a run reaches.
const Forever Tick = 1<<63 - 1

// Seconds converts t to seconds.
func (t Tick) Seconds() float64 { return float64(t) / float64(Second) }

// Bytes is an amount of memory or of data on a wire.
type Bytes int64

// BytesPerSec is a bandwidth.
type BytesPerSec float64

// FLOPs is an amount of floating-point work; a multiply-add counts two.
type FLOPs float64

// FLOPsPerSec is a rate of floating-point work.
type FLOPsPerSec float64

// Dollars is a price.
type Dollars float64
