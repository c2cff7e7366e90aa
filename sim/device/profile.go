package device

import (
	"errors"
	"fmt"

	"tandem/algo/quantity"
	"tandem/algo/unit"
)

// AcceleratorProfile describes an accelerator. The shares are those of a launch, by its size.
type AcceleratorProfile struct {
	Name            string                           `yaml:"name"`
	Memory          quantity.Value[unit.Bytes]       `yaml:"memory"`
	MemoryBandwidth quantity.Value[unit.BytesPerSec] `yaml:"memory-bandwidth"`
	PeakFP32        quantity.Value[unit.FLOPsPerSec] `yaml:"peak-fp32"`
	PeakTF32        quantity.Value[unit.FLOPsPerSec] `yaml:"peak-tf32"` // absent: none; runs at PeakFP32
	PeakHalf        quantity.Value[unit.FLOPsPerSec] `yaml:"peak-half"`
	Launch          quantity.Value[unit.Tick]        `yaml:"launch"`
	ComputeShare    CurveProfile[unit.FLOPs]         `yaml:"compute-share"` // of peak, by FLOPs
	MemoryShare     CurveProfile[unit.Bytes]         `yaml:"memory-share"`  // of bandwidth, by bytes
}

// Resolve returns the accelerator at a position of all ranges: see quantity.Value.At.
func (p *AcceleratorProfile) Resolve(position float64) *Accelerator {
	a := &Accelerator{
		Name:         p.Name,
		Memory:       p.Memory.At(position),
		Bandwidth:    p.MemoryBandwidth.At(position),
		Launch:       p.Launch.At(position),
		ComputeShare: p.ComputeShare.At(position),
		MemoryShare:  p.MemoryShare.At(position),
	}
	a.Peak[FP32] = p.PeakFP32.At(position)
	a.Peak[TF32] = a.Peak[FP32]
	if p.PeakTF32.Given() {
		a.Peak[TF32] = p.PeakTF32.At(position)
	}
	a.Peak[Half] = p.PeakHalf.At(position)
	return a
}

// Validate checks every number of the profile.
func (p *AcceleratorProfile) Validate() error {
	fields := []field{
		required("memory", &p.Memory),
		required("memory-bandwidth", &p.MemoryBandwidth),
		required("peak-fp32", &p.PeakFP32),
		optional("peak-tf32", &p.PeakTF32),
		required("peak-half", &p.PeakHalf),
		required("launch", &p.Launch),
		{"compute-share", p.ComputeShare.Validate},
		{"memory-share", p.MemoryShare.Validate},
	}
	return validate(p.Name, fields)
}

// HostProfile describes a host.
type HostProfile struct {
	Name           string                           `yaml:"name"`
	Cores          quantity.Value[int]              `yaml:"cores"` // as its system counts them
	Memory         quantity.Value[unit.Bytes]       `yaml:"memory"`
	Bandwidth      quantity.Value[unit.BytesPerSec] `yaml:"memory-bandwidth"`
	RowsPerSec     quantity.Value[float64]          `yaml:"random-rows-per-second"`
	RowTime        quantity.Value[unit.Tick]        `yaml:"row-time"`
	CopySpeed      quantity.Value[unit.BytesPerSec] `yaml:"copy-speed"` // of one core
	Network        quantity.Value[unit.BytesPerSec] `yaml:"network"`    // one direction
	DollarsPerHour quantity.Value[unit.Dollars]     `yaml:"dollars-per-hour"`
}

// Resolve returns the host at a position of all ranges: see quantity.Value.At.
func (p *HostProfile) Resolve(position float64) *Host {
	return &Host{
		Name:           p.Name,
		Cores:          p.Cores.At(position),
		Memory:         p.Memory.At(position),
		Bandwidth:      p.Bandwidth.At(position),
		RowsPerSec:     p.RowsPerSec.At(position),
		RowTime:        p.RowTime.At(position),
		CopySpeed:      p.CopySpeed.At(position),
		Network:        p.Network.At(position),
		DollarsPerHour: p.DollarsPerHour.At(position),
	}
}

// Validate checks every number of the profile.
func (p *HostProfile) Validate() error {
	fields := []field{
		required("cores", &p.Cores),
		required("memory", &p.Memory),
		required("memory-bandwidth", &p.Bandwidth),
		required("random-rows-per-second", &p.RowsPerSec),
		required("row-time", &p.RowTime),
		required("copy-speed", &p.CopySpeed),
		required("network", &p.Network),
		optional("dollars-per-hour", &p.DollarsPerHour),
	}
	return validate(p.Name, fields)
}

// WireProfile describes one direction of a link.
type WireProfile struct {
	Name      string                           `yaml:"name"`
	Bandwidth quantity.Value[unit.BytesPerSec] `yaml:"bandwidth"` // nominal
	// Share is the part of the nominal bandwidth that large transfers reach.
	Share   quantity.Value[float64]   `yaml:"share"`
	Latency quantity.Value[unit.Tick] `yaml:"latency"` // of one message
}

// Resolve returns the wire at a position of all ranges: see quantity.Value.At.
func (p *WireProfile) Resolve(position float64) Wire {
	share := unit.BytesPerSec(p.Share.At(position))
	return Wire{p.Bandwidth.At(position) * share, p.Latency.At(position)}
}

// Validate checks every number of the profile.
func (p *WireProfile) Validate() error {
	if _, high := p.Share.Range(); high > 1 {
		return fmt.Errorf("share: high = %v; want at most 1", high)
	}
	fields := []field{
		required("bandwidth", &p.Bandwidth),
		required("share", &p.Share),
		required("latency", &p.Latency),
	}
	return validate(p.Name, fields)
}

// field is a part of a profile with its check.
type field struct {
	name  string
	check func() error
}

// required returns the field of a quantity that must be present and more than 0.
func required[U quantity.Number](name string, q *quantity.Value[U]) field {
	return field{name, func() error {
		if low, _ := q.Range(); q.Given() && low == 0 {
			return errors.New("low = 0; want more than 0")
		}
		return q.Validate()
	}}
}

// optional returns the field of a quantity that is checked if it is present.
func optional[U quantity.Number](name string, q *quantity.Value[U]) field {
	if *q == (quantity.Value[U]{}) {
		return field{name, func() error { return nil }}
	}
	return required(name, q)
}

// validate checks the name and the fields of a profile and returns the error of the first wrong field.
func validate(name string, fields []field) error {
	if name == "" {
		return errors.New("no name; name it after its file")
	}
	for _, f := range fields {
		if err := f.check(); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}
