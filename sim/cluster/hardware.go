package cluster

import (
	"fmt"

	"tandem/algo/unit"
	"tandem/sim/device"
)

// hardware is a spec with its profiles read: quantities with ranges, not yet
// numbers. The profiles belong to it alone and may be changed.
type hardware struct {
	accelerator                       *device.AcceleratorProfile
	server, worker, parameter, loader *device.HostProfile
	inside                            *device.WireProfile
	hostLink, network                 *device.WireProfile // nil: one machine, without either
	software                          Software
	precision                         device.Precision

	workers, servers, loaders      int // hosts
	workersPerHost, serversPerHost int
	perServer                      int      // accelerators
	machine                        *Machine // if it is the cluster
}

// load reads the profiles of a spec at the numbers of hosts of a position.
func load(s *Spec, position float64) (*hardware, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	if s.machine != nil {
		return s.machine.profiles(), nil
	}
	h := &hardware{
		software: s.Software, perServer: s.AcceleratorsPerServer,
		workers: s.EmbeddingWorkers.count(s.Source).At(position), workersPerHost: s.EmbeddingWorkers.PerHost,
		servers: s.ParameterServers.count(s.Source).At(position), serversPerHost: s.ParameterServers.PerHost,
		loaders: s.Loaders.count(s.Source).At(position),
	}
	h.precision, _ = precision(s.Precision) // Validate has read it
	var err error
	if h.accelerator, err = device.LoadAccelerator(s.Accelerator); err != nil {
		return nil, fmt.Errorf("cluster: accelerator: %w", err)
	}
	for _, x := range []struct {
		path, name string
		to         **device.HostProfile
	}{
		{"server", s.Server, &h.server},
		{"embedding-workers.profile", s.EmbeddingWorkers.Profile, &h.worker},
		{"parameter-servers.profile", s.ParameterServers.Profile, &h.parameter},
		{"loaders.profile", s.Loaders.Profile, &h.loader},
	} {
		if *x.to, err = device.LoadHost(x.name); err != nil {
			return nil, fmt.Errorf("cluster: %s: %w", x.path, err)
		}
		if s.NetworkRate > 0 {
			(*x.to).Network = given(s.NetworkRate, "network-rate of the job")
		}
	}
	for _, x := range []struct {
		path, name string
		to         **device.WireProfile
	}{
		{"inside", s.Inside, &h.inside}, {"host-link", s.HostLink, &h.hostLink}, {"network", s.Network, &h.network},
	} {
		if *x.to, err = device.LoadWire(x.name); err != nil {
			return nil, fmt.Errorf("cluster: %s: %w", x.path, err)
		}
	}
	return h, nil
}

// given is a quantity that the user has set.
func given[U device.Number](value U, source string) device.Quantity[U] {
	return device.Quantity[U]{Mid: value, Kind: device.Default, Source: source}
}

// resolved is hardware at one point of its ranges.
type resolved struct {
	*hardware
	device                        *device.Accelerator
	serverHost, workerHost        *device.Host
	parameterHost, loaderHost     *device.Host
	insideWire, linkWire, netWire device.Wire
	netShare                      unit.BytesPerSec // of a card's rate that flows reach
	messageTime, idTime           unit.Tick
	threads                       int
}

// resolve takes every quantity at a position: −1 is the worst for throughput,
// 0 the middle, 1 the best.
func (h *hardware) resolve(position float64) *resolved {
	r := &resolved{
		hardware: h, device: h.accelerator.Resolve(position),
		serverHost: h.server.Resolve(position), workerHost: h.worker.Resolve(position),
		parameterHost: h.parameter.Resolve(position), loaderHost: h.loader.Resolve(position),
		insideWire:  h.inside.Resolve(position),
		messageTime: h.software.MessageTime.At(position), idTime: h.software.IDTime.At(position),
		threads: h.software.Threads.At(position),
	}
	if h.network != nil {
		r.linkWire, r.netWire = h.hostLink.Resolve(position), h.network.Resolve(position)
		r.netShare = unit.BytesPerSec(h.network.Share.At(position))
	}
	return r
}

// colocated reports whether all roles share one machine.
func (h *hardware) colocated() bool { return h.network == nil }
