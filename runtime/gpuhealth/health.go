// Package gpuhealth reads the state of GPUs with go-nvml: utilisation, memory, power, temperature, clocks,
// and the reasons why clocks are low.
//
//	watch, err := gpuhealth.Open("", uuids)
//	gpus, err := watch.Read()
//
// It needs cgo and Linux, and no tag static; elsewhere Open returns ErrNotBuilt. A program that links it
// builds for seconds longer.
//
// So cmd/node alone links it: cmd/train and cmd/sim build as fast as without GPUs. cmd/train names the GPUs
// that it uses, without their state. Version 0.13.4 of go-nvml makes the C compiler print 147 lines of
// warnings.
package gpuhealth

import "errors"

// ErrNotBuilt is the error of Open in a program that cannot use NVML.
var ErrNotBuilt = errors.New("gpuhealth: this program was built without NVML; build it for Linux with " +
	"CGO_ENABLED=1 and a C compiler, without the tag static")
