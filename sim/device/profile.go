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
	Memory          quantity.Value[unit.Bytes]       `yaml:"memory" group:"-"`
	MemoryBandwidth quantity.Value[unit.BytesPerSec] `yaml:"memory-bandwidth"`
	PeakFP32        quantity.Value[unit.FLOPsPerSec] `yaml:"peak-fp32"`
	PeakTF32        quantity.Value[unit.FLOPsPerSec] `yaml:"peak-tf32"` // absent: none; runs at PeakFP32
	PeakHalf        quantity.Value[unit.FLOPsPerSec] `yaml:"peak-half"`
	Units           quantity.Value[int]              `yaml:"units" group:"-"` // multiprocessors
	Cache           quantity.Value[unit.Bytes]       `yaml:"cache" group:"-"` // last level
	// Launch is the time that a launch takes on the device, beside its work. The host's time for a launch is
	// a property of the system software.
	Launch       quantity.Value[unit.Tick] `yaml:"launch"`
	ComputeShare CurveProfile[unit.FLOPs]  `yaml:"compute-share" group:"-"` // of PeakHalf, by FLOPs
	// of PeakFP32 and PeakTF32, by FLOPs; absent: as ComputeShare, at the FLOPs that take as long at the
	// peaks
	ComputeShareFP32 CurveProfile[unit.FLOPs] `yaml:"compute-share-fp32" group:"-"`
	ComputeShareTF32 CurveProfile[unit.FLOPs] `yaml:"compute-share-tf32" group:"-"`
	MemoryShare      CurveProfile[unit.Bytes] `yaml:"memory-share" group:"-"` // of bandwidth, by bytes
	// of bandwidth, by bytes of a row
	RowShare       CurveProfile[unit.Bytes]     `yaml:"row-share" group:"-"`
	DollarsPerHour quantity.Value[unit.Dollars] `yaml:"dollars-per-hour" group:"-"`
	// Inside and HostLink are the wires that servers of this accelerator usually have between accelerators,
	// and between host and accelerator.
	Inside   string `yaml:"inside"`
	HostLink string `yaml:"host-link"`
	// Port is the kind of direct link to other accelerators, such as nvlink; empty: none.
	Port string `yaml:"port"`
}

// Resolve returns the accelerator at a position of all ranges: see quantity.Value.At.
func (p *AcceleratorProfile) Resolve(position float64) *Accelerator {
	a := &Accelerator{
		Name:           p.Name,
		Memory:         p.Memory.At(position),
		Bandwidth:      p.MemoryBandwidth.At(position),
		Units:          p.Units.At(position),
		Cache:          p.Cache.At(position),
		Launch:         p.Launch.At(position),
		ComputeShare:   p.ComputeShare.At(position),
		MemoryShare:    p.MemoryShare.At(position),
		RowShare:       p.RowShare.At(position),
		DollarsPerHour: p.DollarsPerHour.At(position),
	}
	a.Peak[FP32] = p.PeakFP32.At(position)
	a.OwnShare[FP32] = p.ComputeShareFP32.At(position)
	a.Peak[TF32], a.OwnShare[TF32] = a.Peak[FP32], a.OwnShare[FP32]
	if p.PeakTF32.Given() {
		a.Peak[TF32], a.OwnShare[TF32] = p.PeakTF32.At(position), p.ComputeShareTF32.At(position)
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
		required("units", &p.Units),
		required("cache", &p.Cache),
		required("launch", &p.Launch),
		{"compute-share", p.ComputeShare.Validate},
		optionalCurve("compute-share-fp32", &p.ComputeShareFP32),
		optionalCurve("compute-share-tf32", &p.ComputeShareTF32),
		{"memory-share", p.MemoryShare.Validate},
		{"row-share", p.RowShare.Validate},
		price(&p.DollarsPerHour),
	}
	if !p.PeakTF32.Given() {
		fields = append(fields, field{"compute-share-tf32", func() error {
			if p.ComputeShareTF32.Given() {
				return errors.New("its peak is missing; add peak-tf32, or leave the curve out")
			}
			return nil
		}})
	}
	return validate(p.Name, fields)
}

// HostProfile describes a host.
type HostProfile struct {
	Name    string              `yaml:"name"`
	Cores   quantity.Value[int] `yaml:"cores" group:"+ cores"` // as its system counts them
	Sockets quantity.Value[int] `yaml:"sockets" group:"-"`
	// CoreSpeed is the speed of a core in ordinary branchy code, relative to a core of an AMD Zen 4 at 3 GHz.
	CoreSpeed quantity.Value[float64]          `yaml:"core-speed" group:"+ cores"`
	Memory    quantity.Value[unit.Bytes]       `yaml:"memory" group:"-"`
	Bandwidth quantity.Value[unit.BytesPerSec] `yaml:"memory-bandwidth" group:"+ memory"`

	RowsPerSec quantity.Value[float64]          `yaml:"random-rows-per-second" group:"+ memory"`
	CopySpeed  quantity.Value[unit.BytesPerSec] `yaml:"copy-speed" group:"+ cores"` // of one core

	// The latencies are from load to use on an idle host, with the address already translated.
	// of the same socket
	MemoryLatency quantity.Value[unit.Tick] `yaml:"memory-latency" group:"+ memory"`
	// of another socket, if any
	RemoteLatency quantity.Value[unit.Tick] `yaml:"remote-memory-latency" group:"+ memory"`
	// Cache is the last level, as far as one core can fill it.
	Cache        quantity.Value[unit.Bytes] `yaml:"cache" group:"-"`
	CacheLatency quantity.Value[unit.Tick]  `yaml:"cache-latency" group:"+ memory"`
	TLBEntries   quantity.Value[int]        `yaml:"tlb-entries" group:"-"` // second level of the data TLB
	// HugePageShare is the part of a table in pages of 2 MiB; the rest has pages of 4 KiB.
	HugePageShare quantity.Value[float64] `yaml:"huge-page-share" group:"-"`
	// HypervisorHugePageShare is the same of a hypervisor, which translates addresses a second time; absent:
	// the host is not virtual.
	HypervisorHugePageShare quantity.Value[float64] `yaml:"hypervisor-huge-page-share" group:"-"`
	// LinesInFlight is the number of lines that a core can have on their way from memory, WalksInFlight that
	// of walks of page tables. NextLine is the time of a line that follows another one, relative to that of
	// the first. All are measured on this machine and absent elsewhere: systems then say by their own number
	// of misses what prefetching hides.
	LinesInFlight quantity.Value[float64] `yaml:"lines-in-flight" group:"-"`
	// CacheTogether is the cache, as far as one core that has many lines in flight can fill it. Where others
	// use the cache too, that is more than a core gets that waits for each line.
	CacheTogether quantity.Value[unit.Bytes] `yaml:"cache-together" group:"-"`
	WalksInFlight quantity.Value[float64]    `yaml:"walks-in-flight" group:"-"`
	NextLine      quantity.Value[float64]    `yaml:"next-line" group:"-"`

	// Network is the rate of all cards together, one direction. The front network carries input data where
	// the cards of Network are kept for collectives.
	Network           quantity.Value[unit.BytesPerSec] `yaml:"network" group:"network bandwidth"`
	NetworkCards      quantity.Value[int]              `yaml:"network-cards" group:"-"` // absent: 1
	FrontNetwork      quantity.Value[unit.BytesPerSec] `yaml:"front-network" group:"network bandwidth"`
	FrontNetworkCards quantity.Value[int]              `yaml:"front-network-cards" group:"-"`

	// of all drives
	SSD quantity.Value[unit.Bytes] `yaml:"ssd" group:"-"`
	// reads of all drives
	SSDBandwidth quantity.Value[unit.BytesPerSec] `yaml:"ssd-bandwidth" group:"+ SSD"`
	// of 4 KiB, of all drives
	SSDReadsPerSec quantity.Value[float64] `yaml:"ssd-reads-per-second" group:"+ SSD"`

	DollarsPerHour quantity.Value[unit.Dollars] `yaml:"dollars-per-hour" group:"-"`
}

// Resolve returns the host at a position of all ranges: see quantity.Value.At.
func (p *HostProfile) Resolve(position float64) *Host {
	return &Host{
		Name:                    p.Name,
		Virtual:                 p.HypervisorHugePageShare.Given(),
		Cores:                   p.Cores.At(position),
		Sockets:                 p.Sockets.At(position),
		CoreSpeed:               p.CoreSpeed.At(position),
		Memory:                  p.Memory.At(position),
		Bandwidth:               p.Bandwidth.At(position),
		RowsPerSec:              p.RowsPerSec.At(position),
		CopySpeed:               p.CopySpeed.At(position),
		MemoryLatency:           p.MemoryLatency.At(position),
		RemoteLatency:           p.RemoteLatency.At(position),
		Cache:                   p.Cache.At(position),
		CacheLatency:            p.CacheLatency.At(position),
		TLBEntries:              p.TLBEntries.At(position),
		HugePageShare:           p.HugePageShare.At(position),
		HypervisorHugePageShare: p.HypervisorHugePageShare.At(position),
		LinesInFlight:           p.LinesInFlight.At(position),
		CacheTogether:           p.CacheTogether.At(position),
		WalksInFlight:           p.WalksInFlight.At(position),
		NextLine:                p.NextLine.At(position),
		Network:                 p.Network.At(position),
		NetworkCards:            max(1, p.NetworkCards.At(position)),
		FrontNetwork:            p.FrontNetwork.At(position),
		FrontNetworkCards:       p.FrontNetworkCards.At(position),
		SSD:                     p.SSD.At(position),
		SSDBandwidth:            p.SSDBandwidth.At(position),
		SSDReadsPerSec:          p.SSDReadsPerSec.At(position),
		DollarsPerHour:          p.DollarsPerHour.At(position),
	}
}

// Validate checks every number of the profile.
func (p *HostProfile) Validate() error {
	fields := []field{
		required("cores", &p.Cores),
		required("sockets", &p.Sockets),
		required("core-speed", &p.CoreSpeed),
		required("memory", &p.Memory),
		required("memory-bandwidth", &p.Bandwidth),
		required("random-rows-per-second", &p.RowsPerSec),
		required("copy-speed", &p.CopySpeed),
		required("memory-latency", &p.MemoryLatency),
		optional("remote-memory-latency", &p.RemoteLatency),
		required("cache", &p.Cache),
		required("cache-latency", &p.CacheLatency),
		required("tlb-entries", &p.TLBEntries),
		share("huge-page-share", &p.HugePageShare),
		share("hypervisor-huge-page-share", &p.HypervisorHugePageShare),
		optional("lines-in-flight", &p.LinesInFlight),
		optional("cache-together", &p.CacheTogether),
		optional("walks-in-flight", &p.WalksInFlight),
		share("next-line", &p.NextLine),
		required("network", &p.Network),
		optional("network-cards", &p.NetworkCards),
		optional("front-network", &p.FrontNetwork),
		optional("front-network-cards", &p.FrontNetworkCards),
		optional("ssd", &p.SSD),
		optional("ssd-bandwidth", &p.SSDBandwidth),
		optional("ssd-reads-per-second", &p.SSDReadsPerSec),
		price(&p.DollarsPerHour),
		{"parts", p.validateParts},
	}
	return validate(p.Name, fields)
}

// validateParts checks what quantities of a host say together.
func (p *HostProfile) validateParts() error {
	_, sockets := p.Sockets.Range()
	switch {
	case !p.HugePageShare.Given():
		return errors.New("no huge-page-share; add it")
	case sockets > 1 && !p.RemoteLatency.Given():
		return fmt.Errorf("%d sockets without remote-memory-latency; add it", sockets)
	case p.RemoteLatency.Given() && p.RemoteLatency.Mid < p.MemoryLatency.Mid:
		return fmt.Errorf("remote-memory-latency = %v below memory-latency = %v; raise it",
			p.RemoteLatency.Mid, p.MemoryLatency.Mid)
	case p.MemoryLatency.Mid < p.CacheLatency.Mid:
		return fmt.Errorf("memory-latency = %v below cache-latency = %v; raise it", p.MemoryLatency.Mid,
			p.CacheLatency.Mid)
	case p.FrontNetwork.Given() != p.FrontNetworkCards.Given():
		return errors.New("one of front-network and front-network-cards; give both or none")
	case p.SSD.Given() != p.SSDBandwidth.Given() || p.SSD.Given() != p.SSDReadsPerSec.Given():
		return errors.New("part of ssd, ssd-bandwidth and ssd-reads-per-second; give all or none")
	}
	return nil
}

// WireProfile describes one direction of a link.
type WireProfile struct {
	Name string `yaml:"name"`
	// Port is the kind of link that accelerators must have for this wire; empty: any have it.
	Port string `yaml:"port"`
	// Shape is mesh for a link between every two accelerators, which share the bandwidth; cube-mesh for 8
	// accelerators with links to 4 others each, which exchange with the rest through the host; empty: every
	// accelerator reaches any other at the bandwidth.
	Shape     string                           `yaml:"shape"`
	Bandwidth quantity.Value[unit.BytesPerSec] `yaml:"bandwidth"` // nominal
	// Share is the part of the nominal bandwidth that large transfers reach.
	Share   quantity.Value[float64]   `yaml:"share" group:"-"`
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

// price returns the field of a price, which may be absent, or 0 for a part that the price of another covers.
func price(q *quantity.Value[unit.Dollars]) field {
	return field{"dollars-per-hour", func() error {
		if *q == (quantity.Value[unit.Dollars]{}) {
			return nil
		}
		return q.Validate()
	}}
}

// optionalCurve returns the field of a curve that is checked if anything of it is present.
func optionalCurve[U quantity.Number](name string, c *CurveProfile[U]) field {
	if len(c.Points) == 0 && !c.Given() && c.Spread == 0 && c.Source == "" && c.Date == "" {
		return field{name, func() error { return nil }}
	}
	return field{name, c.Validate}
}

// share returns the field of a quantity that is from 0 to 1 if it is present.
func share(name string, q *quantity.Value[float64]) field {
	return field{name, func() error {
		if *q == (quantity.Value[float64]{}) {
			return nil
		}
		if _, high := q.Range(); high > 1 {
			return fmt.Errorf("high = %v; want at most 1", high)
		}
		return q.Validate()
	}}
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
