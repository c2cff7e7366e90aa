// Package unit has a type for each physical quantity of a training cluster: Tick for time, Bytes for memory,
// BytesPerSec for bandwidth, FLOPs for work and FLOPsPerSec for its rate. The compiler therefore refuses to
// add bytes to nanoseconds, and a number is never printed without its unit.
//
// The text forms carry units: "936ns", "12TB", "25Gbps", "77MFLOP", "15.7TFLOP/s". Each type implements
// encoding.TextMarshaler and encoding.TextUnmarshaler, so that job files, device profiles and flags share one
// notation. MarshalText loses nothing; String rounds to what people read.
package unit

import "math"

// Tick is an instant or a duration in nanoseconds. Instants count from the start of the run: in the
// simulator from the start of simulated time, in the runtime from the start of the process.
type Tick int64

// Common durations.
const (
	Nanosecond  Tick = 1
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
	Minute           = 60 * Second
	Hour             = 60 * Minute
)

// Forever is later than any instant of a run.
const Forever Tick = 1<<63 - 1

// Seconds converts t to seconds.
func (t Tick) Seconds() float64 { return float64(t) / float64(Second) }

// Scale returns t multiplied by a factor, rounded to the nearest tick.
func (t Tick) Scale(factor float64) Tick { return Tick(math.Round(float64(t) * factor)) }

// Nanos is the time of one small operation, such as the sum of two values, in nanoseconds and fractions of
// them.
type Nanos float64

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
