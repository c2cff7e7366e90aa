package job

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tandem/algo/numeric/model"
)

// Device is where ranks compute the dense network: on the processors of the host, its zero value, or on GPUs.
type Device struct {
	CUDA bool
	// Ordinals are the numbers of the GPUs, as CUDA counts them; nil: all that a process sees.
	Ordinals []int
}

// KernelsOnGPU reports whether the kernels of Tandem train on GPUs. A module of PyTorch brings its own, and
// the losses of its logits are computed on the processors.
func (j *Job) KernelsOnGPU() bool { return j.Model.Device.CUDA && j.Model.Kind != model.Torch }

// The texts of a Device without numbers.
const (
	cpuDevice  = "cpu"
	cudaDevice = "cuda"
)

// devicesMax is the largest number of GPUs of one machine.
const devicesMax = 1024

// ParseDevice reads cpu, cuda, or cuda with numbers, as in cuda:0,1.
func ParseDevice(text string) (Device, error) {
	switch text {
	case cpuDevice:
		return Device{}, nil
	case cudaDevice:
		return Device{CUDA: true}, nil
	}
	list, ok := strings.CutPrefix(text, cudaDevice+":")
	if !ok {
		return Device{}, fmt.Errorf("device = %q; want cpu, cuda, or cuda with numbers, as in cuda:0,1",
			shortened(text))
	}
	d := Device{CUDA: true}
	for _, number := range strings.Split(list, ",") {
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n >= devicesMax || number != strconv.Itoa(n) {
			return Device{}, fmt.Errorf("device = %q: %q is not the number of a GPU, from 0 on",
				shortened(text), shortened(number))
		}
		if slices.Contains(d.Ordinals, n) {
			return Device{}, fmt.Errorf("device = %q names GPU %d twice", shortened(text), n)
		}
		d.Ordinals = append(d.Ordinals, n)
	}
	return d, nil
}

// IsZero reports whether the device is the processors of the host.
func (d Device) IsZero() bool { return !d.CUDA }

// String returns the text that ParseDevice reads.
func (d Device) String() string {
	if !d.CUDA {
		return cpuDevice
	}
	text := cudaDevice
	for i, n := range d.Ordinals {
		separator := ","
		if i == 0 {
			separator = ":"
		}
		text += separator + strconv.Itoa(n)
	}
	return text
}

// MarshalText implements encoding.TextMarshaler.
func (d Device) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Device) UnmarshalText(text []byte) error {
	parsed, err := ParseDevice(string(text))
	if err == nil {
		*d = parsed
	}
	return err
}
