// Package gpuhealth reads how GPUs fare, with go-nvml: how busy they are, their memory, power, temperature
// and clocks, and what keeps the clocks low.
//
//	watch, err := gpuhealth.Open("", uuids)
//	gpus, err := watch.Read()
//
// It needs cgo and Linux; elsewhere Open returns ErrNotBuilt. A program that links it builds for seconds
// longer.
package gpuhealth

import "errors"

// ErrNotBuilt is the error of Open in a program that cannot use NVML.
var ErrNotBuilt = errors.New("gpuhealth: this program was built without NVML: it needs cgo and Linux")
