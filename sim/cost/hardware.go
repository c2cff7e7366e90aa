package cost

import (
	"fmt"
	"slices"

	"tandem/algo/job"
	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/sim/device"
)

// Hardware is a cluster with the profiles of its devices: quantities with ranges, not yet numbers. Load and
// ThisMachine make it; it does not change afterwards.
type Hardware struct {
	accelerator                                        *device.AcceleratorProfile
	serverProfile, ewProfile, psProfile, loaderProfile *device.HostProfile
	inside                                             *device.WireProfile
	hostLink, network                                  *device.WireProfile // nil on one machine
	software                                           job.Software
	precision                                          device.Precision

	ewHosts, psHosts, loaderHosts quantity.Value[int]
	EWsPerHost, PSsPerHost        int
	AcceleratorsPerServer         int  // accelerators
	Fold                          bool // one state machine stands for all embedding PSs
	machine                       *MeasuredMachine
}

// Load returns the cluster of a job with the profiles that it names. The error about a profile that does not
// exist wraps preset.ErrUnknown and names the nearest.
func Load(c *job.Cluster) (*Hardware, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("cost: %w", err)
	}
	h := &Hardware{
		software: c.Software, AcceleratorsPerServer: c.AcceleratorsPerServer, Fold: c.Fold,
		ewHosts: c.EmbeddingWorkers.CountRange(c.Source), EWsPerHost: c.EmbeddingWorkers.PerHost,
		psHosts: c.EmbeddingPSs.CountRange(c.Source), PSsPerHost: c.EmbeddingPSs.PerHost,
		loaderHosts: c.Loaders.CountRange(c.Source),
	}
	switch c.Precision {
	case job.PrecisionFP32:
		h.precision = device.FP32
	case job.PrecisionTF32:
		h.precision = device.TF32
	case job.PrecisionHalf:
		h.precision = device.Half
	}
	var err error
	if h.accelerator, err = device.LoadAccelerator(c.Accelerator); err != nil {
		return nil, fmt.Errorf("cost: accelerator: %w", err)
	}
	for _, x := range []struct {
		path, name string
		to         **device.HostProfile
	}{
		{"server", c.Server, &h.serverProfile},
		{"embedding-workers.profile", c.EmbeddingWorkers.Profile, &h.ewProfile},
		{"embedding-ps.profile", c.EmbeddingPSs.Profile, &h.psProfile},
		{"loaders.profile", c.Loaders.Profile, &h.loaderProfile},
	} {
		if *x.to, err = device.LoadHost(x.name); err != nil {
			return nil, fmt.Errorf("cost: %s: %w", x.path, err)
		}
		if c.NetworkRate > 0 {
			(*x.to).Network = given(c.NetworkRate, "network-rate of the job")
		}
	}
	for _, x := range []struct {
		path, name string
		to         **device.WireProfile
	}{
		{"inside", c.Inside, &h.inside}, {"host-link", c.HostLink, &h.hostLink},
		{"network", c.Network, &h.network},
	} {
		if *x.to, err = device.LoadWire(x.name); err != nil {
			return nil, fmt.Errorf("cost: %s: %w", x.path, err)
		}
	}
	return h, nil
}

// given returns a quantity that the user has set.
func given[U quantity.Number](value U, source string) quantity.Value[U] {
	return quantity.Value[U]{Mid: value, Kind: quantity.Default, Source: source}
}

// EmbeddingWorkers returns the number of embedding workers at a position of its range.
func (h *Hardware) EmbeddingWorkers(position float64) int {
	return h.ewHosts.At(position) * h.EWsPerHost
}

// InsideName returns the name of the wire between the accelerators of a server.
func (h *Hardware) InsideName() string { return h.inside.Name }

// EmbeddingPSHosts returns the number of hosts of embedding PSs at the middle of its range.
func (h *Hardware) EmbeddingPSHosts() int { return h.psHosts.Mid }

// Colocated reports whether all roles share one machine.
func (h *Hardware) Colocated() bool { return h.network == nil }

// clone returns hardware that can be changed without an effect on h.
func (h *Hardware) clone() *Hardware {
	c := *h
	accelerator := *h.accelerator
	accelerator.ComputeShare.Points = slices.Clone(accelerator.ComputeShare.Points)
	accelerator.MemoryShare.Points = slices.Clone(accelerator.MemoryShare.Points)
	c.accelerator = &accelerator
	hosts := map[*device.HostProfile]*device.HostProfile{} // roles on one machine have one host
	for _, p := range []**device.HostProfile{&c.serverProfile, &c.ewProfile, &c.psProfile, &c.loaderProfile} {
		if hosts[*p] == nil {
			host := **p
			hosts[*p] = &host
		}
		*p = hosts[*p]
	}
	for _, p := range []**device.WireProfile{&c.inside, &c.hostLink, &c.network} {
		if *p != nil {
			wire := **p
			*p = &wire
		}
	}
	return &c
}

// Resolved is hardware at one position of its ranges.
type Resolved struct {
	*Hardware
	Accelerator                               *device.Accelerator
	ServerHost, EWHost                        *device.Host
	PSHost, LoaderHost                        *device.Host
	EWHostCount, PSHostCount, LoaderHostCount int // hosts
	InsideWire, HostLinkWire, NetworkWire     device.Wire
	NetworkShare                              unit.BytesPerSec // the share of a card's rate that flows reach
	MessageTime, idTime                       unit.Tick
	EWService, PSService                      Service // of one instance; PSs of either kind
}

// Resolve takes every quantity at a position: −1 is the worst for throughput, 0 the middle, 1 the best.
func (h *Hardware) Resolve(position float64) *Resolved {
	r := &Resolved{
		Hardware: h, Accelerator: h.accelerator.Resolve(position),
		ServerHost: h.serverProfile.Resolve(position), EWHost: h.ewProfile.Resolve(position),
		PSHost: h.psProfile.Resolve(position), LoaderHost: h.loaderProfile.Resolve(position),
		EWHostCount: h.ewHosts.At(position), PSHostCount: h.psHosts.At(position),
		LoaderHostCount: h.loaderHosts.At(position),
		InsideWire:      h.inside.Resolve(position),
		MessageTime:     h.software.MessageTime.At(position), idTime: h.software.IDTime.At(position),
	}
	r.EWService = Service{Threads: 1, Width: h.software.Threads.At(position)}
	r.PSService = r.EWService
	if h.network != nil {
		r.HostLinkWire, r.NetworkWire = h.hostLink.Resolve(position), h.network.Resolve(position)
		r.NetworkShare = unit.BytesPerSec(h.network.Share.At(position))
	}
	return r
}
