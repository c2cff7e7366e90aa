package cost

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/sim/device"
	"tandem/sim/param"
	"tandem/sim/preset"
	"tandem/sim/system"
)

// Hardware is a cluster with the profiles of its devices and of its system software: quantities with ranges,
// not yet numbers. Load and ThisMachine make it. Its exported fields hold what Parameters lists.
type Hardware struct {
	// Cluster is the section of the job, with its preset filled in.
	Cluster   job.Cluster      `yaml:"-"`
	Precision device.Precision `yaml:"-"` // of matrix products

	Accelerator device.AcceleratorProfile `yaml:"accelerator" group:"accelerator"`
	Mixed       []MixedServers            `yaml:"mixed"`
	Inside      device.WireProfile        `yaml:"inside" group:"wire inside servers"`
	HostLink    device.WireProfile        `yaml:"host-link" group:"host-accelerator copies"`
	Network     device.WireProfile        `yaml:"network" group:"network latency"`

	Server           device.HostProfile `yaml:"server" group:"GPU server"`
	EmbeddingWorkers HostGroup          `yaml:"embedding-workers" group:"EW"`
	EmbeddingPSs     HostGroup          `yaml:"embedding-ps" group:"PS"`
	Loaders          HostGroup          `yaml:"loaders" group:"loader"`

	System system.Profile `yaml:"system"`

	machine *MeasuredMachine
}

// HostGroup is a number of equal hosts of a role.
type HostGroup struct {
	Host    device.HostProfile  `yaml:",inline"`
	Count   quantity.Value[int] `yaml:"count" group:"-"`
	PerHost int                 `yaml:"-"` // instances of the role
}

// MixedServers are servers with another accelerator.
type MixedServers struct {
	Accelerator device.AcceleratorProfile `yaml:"accelerator" group:"accelerator"`
	Servers     int                       `yaml:"-"`
}

// Load returns the cluster of a job with the profiles that it names, and a note for each of its parts that
// is not what a user of the other parts would expect. The error about a profile that does not exist wraps
// preset.ErrUnknown and names the nearest; one about a parameter, param.ErrUnknown.
//
// Precision is the model's, for clusters that do not say; empty means fp32.
func Load(c *job.Cluster, precision string) (h *Hardware, notes []string, err error) {
	h = &Hardware{}
	if notes, err = h.fill(c); err != nil {
		return nil, nil, fmt.Errorf("cluster.%w", err)
	}
	if h.Cluster.Precision != "" {
		precision = h.Cluster.Precision
	}
	switch precision {
	case "", job.PrecisionFP32:
		h.Precision = device.FP32
	case job.PrecisionTF32:
		h.Precision = device.TF32
	case job.PrecisionHalf:
		h.Precision = device.Half
	default:
		return nil, nil, fmt.Errorf("precision %q; want one of %s", precision,
			strings.Join(job.Precisions(), ", "))
	}
	return h, notes, nil
}

// fill loads the profiles that a section names, and sets its parameters. Errors begin with the
// key.
func (h *Hardware) fill(section *job.Cluster) (notes []string, err error) {
	h.Cluster = *section
	c := &h.Cluster
	if err := device.Accelerators.Load(c.Accelerator, &h.Accelerator); err != nil {
		return nil, profileError(section, "accelerator", c.Accelerator, err)
	}
	// An A100 behind the disabled NVLink of a V100's server would be a trap.
	take := func(wire *string, own, key string) error {
		if *wire == "" && own == "" {
			return fmt.Errorf("%s: %s has none of its own; name a wire", key, h.Accelerator.Name)
		}
		*wire = cmp.Or(*wire, own)
		return nil
	}
	if c.Inside == "" || c.HostLink == "" {
		notes = []string{fmt.Sprintf("%s brings its own wires, %s and %s; hosts (%s), network cards and "+
			"system "+
			"software stay those of %s", h.Accelerator.Name, h.Accelerator.Inside, h.Accelerator.HostLink,
			c.Server, c.Preset)}
	}
	if err := errors.Join(take(&c.Inside, h.Accelerator.Inside, "inside"),
		take(&c.HostLink, h.Accelerator.HostLink, "host-link")); err != nil {
		return nil, err
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if key, name, err := h.loadDevices(c); err != nil {
		return nil, profileError(section, key, name, err)
	}
	if port := h.Inside.Port; port != "" && port != h.Accelerator.Port {
		return nil, fmt.Errorf("inside: %w parts: %s needs accelerators with %s; %s has %s", ErrIncompatible,
			h.Inside.Name, port, h.Accelerator.Name, cmp.Or(h.Accelerator.Port, "none"))
	}
	if err := system.Systems.Load(c.System, &h.System); err != nil {
		return nil, profileError(section, "system", c.System, err)
	}
	if err := h.set(c.Set); err != nil {
		return nil, err
	}
	h.setNetworkRate()
	return notes, nil
}

// setNetworkRate gives every network card the rate of the section. A host whose rate the section sets by name
// keeps that one.
func (h *Hardware) setNetworkRate() {
	rate := h.Cluster.NetworkRate
	for _, x := range []struct {
		name string
		host *device.HostProfile
	}{
		{"server", &h.Server}, {"embedding-workers", &h.EmbeddingWorkers.Host},
		{"embedding-ps", &h.EmbeddingPSs.Host}, {"loaders", &h.Loaders.Host},
	} {
		if _, named := h.Cluster.Set[x.name+".network"]; rate > 0 && !named && x.host.Network.Given() {
			cards := unit.BytesPerSec(max(1, x.host.NetworkCards.Mid))
			x.host.Network = given(cards*rate, "network-rate of the job, of each card")
		}
	}
}

// Uncalibrate gives the system software the ranges that its built-in profile has before its calibration. A
// user's file stays as it is.
func (h *Hardware) Uncalibrate() error {
	if preset.IsFile(h.Cluster.System) {
		return nil
	}
	p, err := system.LoadUncalibrated(h.Cluster.System)
	if err != nil {
		return fmt.Errorf("cluster.system: %w", err)
	}
	h.System = *p
	return h.set(h.Cluster.Set)
}

// SetError is the error about a parameter that job.Cluster.Set gives a value.
type SetError struct {
	Name string // of the parameter
	Err  error
}

// Error implements error.
func (e *SetError) Error() string { return "set: " + e.Err.Error() }

// Unwrap returns the error without the key of the section.
func (e *SetError) Unwrap() error { return e.Err }

// wireRate is the nominal rate of the wire between servers. Profiles have it for the reader.
const wireRate = "network.bandwidth"

// set gives parameters values, in the order of their names. Its error is a SetError.
func (h *Hardware) set(values map[string]string) error {
	h.addPrices(values)
	parameters := append(append(h.Parameters(), h.HotParameters()...), h.GPURowParameters()...)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if name == wireRate {
			return &SetError{name, fmt.Errorf("%w: the cards have the rate of the network, and %s is in no "+
				"prediction: set server.network instead", param.ErrValue, name)}
		}
		if err := parameters.Set(name, values[name], "set by the user"); err != nil {
			return &SetError{name, err}
		}
		// A share may be more than 1.
		for _, x := range []struct {
			name string
			preset.Profile
		}{{"inside", &h.Inside}, {"host-link", &h.HostLink}, {"network", &h.Network}, {"system", &h.System}} {
			if err := x.Validate(); err != nil {
				return &SetError{name, fmt.Errorf("%w: %s.%w", param.ErrValue, x.name, err)}
			}
		}
	}
	return nil
}

// profileError returns the error about a profile that the section names under a key. It adds the user's file
// that refers to the profile: the accelerator's, for a wire that the section leaves out, or else the
// cluster's. It adds none if a flag, a job file or a built-in profile refers to it.
func profileError(section *job.Cluster, key, name string, err error) error {
	file := section.Preset
	if key == "inside" && section.Inside == "" || key == "host-link" && section.HostLink == "" {
		file = section.Accelerator
	} else if c, failed := job.LoadCluster(file); failed != nil || !slices.Contains(profileNames(&c), name) {
		file = ""
	}
	if name == "" || !preset.IsFile(file) {
		return fmt.Errorf("%s: %w", key, err)
	}
	return fmt.Errorf("%s: %s refers to %s: %w", key, file, name, err)
}

// profileNames lists the profiles of devices and systems that a section names.
func profileNames(c *job.Cluster) []string {
	names := []string{c.Accelerator, c.Inside, c.HostLink, c.Network, c.Server, c.EmbeddingWorkers.Profile,
		c.EmbeddingPSs.Profile, c.Loaders.Profile, c.System}
	for _, m := range c.Mixed {
		names = append(names, m.Accelerator)
	}
	return names
}

// loadDevices loads the profiles of devices, except for the main accelerator. Its error comes with the key
// and the name of the profile.
func (h *Hardware) loadDevices(c *job.Cluster) (key, name string, err error) {
	for _, x := range []struct {
		key, name string
		library   *preset.Library
		to        preset.Profile
	}{
		{"inside", c.Inside, device.Wires, &h.Inside},
		{"host-link", c.HostLink, device.Wires, &h.HostLink},
		{"network", c.Network, device.Wires, &h.Network},
		{"server", c.Server, device.Hosts, &h.Server},
		{"embedding-workers.profile", c.EmbeddingWorkers.Profile, device.Hosts, &h.EmbeddingWorkers.Host},
		{"embedding-ps.profile", c.EmbeddingPSs.Profile, device.Hosts, &h.EmbeddingPSs.Host},
		{"loaders.profile", c.Loaders.Profile, device.Hosts, &h.Loaders.Host},
	} {
		if x.name == "" && strings.HasSuffix(x.key, ".profile") {
			continue // no host of that role
		}
		if err := x.library.Load(x.name, x.to); err != nil {
			return x.key, x.name, err
		}
	}
	for i, m := range c.Mixed {
		profile, err := device.LoadAccelerator(m.Accelerator)
		if err != nil {
			return fmt.Sprintf("mixed[%d].accelerator", i), m.Accelerator, err
		}
		h.Mixed = append(h.Mixed, MixedServers{*profile, m.Servers})
	}
	for _, x := range []struct {
		group *HostGroup
		hosts job.Hosts
	}{
		{&h.EmbeddingWorkers, c.EmbeddingWorkers}, {&h.EmbeddingPSs, c.EmbeddingPSs}, {&h.Loaders, c.Loaders},
	} {
		x.group.PerHost = x.hosts.PerHost
		if x.hosts.Count > 0 {
			x.group.Count = quantity.Value[int]{Mid: x.hosts.Count, Kind: quantity.Default, Source: c.Source}
		}
		if low, high := x.hosts.CountRange(); low < high {
			x.group.Count.Low, x.group.Count.High, x.group.Count.Kind = low, high, quantity.Guessed
		}
	}
	return "", "", nil
}

// given returns a quantity that the user has set.
func given[U quantity.Number](value U, source string) quantity.Value[U] {
	return quantity.Value[U]{Mid: value, Kind: quantity.Default, Source: source}
}

// The names of the parameters that only jobs with hot rows have, and those with rows on GPUs.
const (
	hotIDTime = "system.embedding-worker.hot-id-time"
	signTime  = "system.nn-worker.sign-time"
)

// HotParameters returns the parameters that only jobs with hot rows have, as a view.
func (h *Hardware) HotParameters() param.Vector {
	return slices.DeleteFunc(param.Collect("", h), func(e param.Entry) bool { return e.Name != hotIDTime })
}

// GPURowParameters returns the parameters that only jobs with their rows on GPUs have, as a view: what an id
// takes, and the rate of comparisons of sorts, where products have another one.
func (h *Hardware) GPURowParameters() param.Vector {
	const comparisons = "accelerator.peak-fp32"
	return slices.DeleteFunc(param.Collect("", h), func(e param.Entry) bool {
		return e.Name != signTime && (e.Name != comparisons || h.peakName() == comparisons)
	})
}

// Parameters returns all parameters of the hardware but HotParameters and GPURowParameters, as a view: a
// change of a parameter is one of h.
func (h *Hardware) Parameters() param.Vector {
	unused := map[string]bool{"accelerator.peak-fp32": true, "accelerator.peak-tf32": true,
		"accelerator.peak-half": true, hotIDTime: true, signTime: true}
	delete(unused, h.peakName())
	return slices.DeleteFunc(param.Collect("", h), func(e param.Entry) bool { return unused[e.Name] })
}

// peakName is the name of the peak rate of the precision.
func (h *Hardware) peakName() string {
	switch {
	case h.Precision == device.TF32 && h.Accelerator.PeakTF32.Given():
		return "accelerator.peak-tf32"
	case h.Precision == device.Half:
		return "accelerator.peak-half"
	}
	return "accelerator.peak-fp32"
}

// Clone returns hardware that can be changed without an effect on h.
func (h *Hardware) Clone() *Hardware {
	c := *h
	c.Mixed = slices.Clone(h.Mixed)
	return &c
}

// At returns the hardware at a point of the box that its Parameters span.
func (h *Hardware) At(p param.Point) *Hardware {
	c := h.Clone()
	c.Parameters().Fix(p)
	return c
}

// Colocated reports whether all roles share one machine.
func (h *Hardware) Colocated() bool { return h.machine != nil }

// InsideName returns the name of the wire between the accelerators of a server.
func (h *Hardware) InsideName() string { return h.Inside.Name }

// Resolved is hardware at one point, in numbers.
type Resolved struct {
	*Hardware
	Devices                                   []*device.Accelerator // Accelerator, then those of Mixed
	ServerHost, EWHost                        *device.Host
	PSHost, LoaderHost                        *device.Host
	EWHostCount, PSHostCount, LoaderHostCount int // hosts
	InsideWire, HostLinkWire, NetworkWire     device.Wire
	NetworkShare                              unit.BytesPerSec // the share of a card's rate that flows reach
	EWService, PSService, DensePSService      Service          // of one instance
}

// Resolve takes every quantity at the middle of its range.
func (h *Hardware) Resolve() *Resolved {
	r := &Resolved{
		Hardware: h, Devices: []*device.Accelerator{h.Accelerator.Resolve(0)},
		ServerHost: h.Server.Resolve(0), EWHost: h.EmbeddingWorkers.Host.Resolve(0),
		PSHost: h.EmbeddingPSs.Host.Resolve(0), LoaderHost: h.Loaders.Host.Resolve(0),
		EWHostCount: h.EmbeddingWorkers.Count.Mid, PSHostCount: h.EmbeddingPSs.Count.Mid,
		LoaderHostCount: h.Loaders.Count.Mid,
		InsideWire:      h.Inside.Resolve(0), HostLinkWire: h.HostLink.Resolve(0),
		NetworkWire: h.Network.Resolve(0), NetworkShare: unit.BytesPerSec(h.Network.Share.Mid),
	}
	for i := range h.Mixed {
		r.Devices = append(r.Devices, h.Mixed[i].Accelerator.Resolve(0))
	}
	r.EWService = service(&h.System.EmbeddingWorker.Service, r.EWHost, h.EmbeddingWorkers.PerHost)
	r.PSService = service(&h.System.EmbeddingPS.Service, r.PSHost, h.EmbeddingPSs.PerHost)
	r.DensePSService = service(&h.System.DensePS, r.PSHost, 1)
	return r
}
