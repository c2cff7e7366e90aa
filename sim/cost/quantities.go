package cost

import (
	"fmt"
	"slices"

	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/sim/device"
)

// Assumption is a quantity on which a prediction rests, as text with its unit.
type Assumption struct {
	Name   string        `json:"name"`
	Low    string        `json:"low"`
	Mid    string        `json:"mid"`
	High   string        `json:"high"`
	Kind   quantity.Kind `json:"kind"`
	Source string        `json:"source"`
}

// namedQuantity is a quantity of hardware that can be reported and improved.
type namedQuantity struct {
	group      string // improved together when sensitivity is measured
	assumption Assumption
	// improve makes the quantity better for throughput by a factor.
	improve func(factor float64)
}

// The groups of quantities.
const (
	groupPeak     = "accelerator peak"
	groupDevice   = "accelerator memory and launch"
	groupInside   = "wire between accelerators of a server"
	groupHostLink = "wire between host and accelerator"
	groupNetwork  = "network bandwidth"
	groupLatency  = "network latency"
	groupHosts    = "host cores, memory and copies"
	groupRows     = "row cost on PSs"
	groupMessages = "core time a message"
	groupIDs      = "core time an id"

	// On one machine, where ranks are cores of it.
	groupCore       = "core's dense rate"
	groupCoreMemory = "core's memory bandwidth"
	groupMemory     = "copies between ranks"
)

// describe returns a quantity with its group and name.
func describe[U quantity.Number](group, name string, q *quantity.Value[U]) namedQuantity {
	low, high := q.Range()
	return namedQuantity{group, Assumption{name, text(low), text(q.Mid), text(high), q.Kind, q.Source},
		q.Improve}
}

// text returns a value as text, in the unit in which the ends of its range are easy to compare.
func text[U quantity.Number](value U) string {
	switch v := any(value).(type) {
	case unit.BytesPerSec:
		return fmt.Sprintf("%.4g GB/s", float64(v)/1e9)
	case unit.Tick:
		return fmt.Sprintf("%.4g µs", float64(v)/float64(unit.Microsecond))
	}
	return fmt.Sprint(value)
}

// curve returns the quantity that stands for all shares of a curve.
func curve[U quantity.Number](group, name string, c *device.CurveProfile[U]) namedQuantity {
	times := func(factor float64) string { return fmt.Sprintf("×%.3g", factor) }
	return namedQuantity{group,
		Assumption{name, times(1 - c.Spread), times(1), times(1 + c.Spread), c.Kind, c.Source},
		func(factor float64) {
			for i := range c.Points {
				c.Points[i].Share = min(1, c.Points[i].Share*factor)
			}
		}}
}

// Groups returns the names of the groups of quantities that a prediction uses, each once.
func (h *Hardware) Groups() []string {
	var groups []string
	for _, q := range h.quantities() {
		if q.group != "" && !slices.Contains(groups, q.group) {
			groups = append(groups, q.group)
		}
	}
	return groups
}

// Improved returns hardware on which the quantities of a group are better by a factor.
func (h *Hardware) Improved(group string, factor float64) *Hardware {
	better := h.clone()
	for _, q := range better.quantities() {
		if q.group == group {
			q.improve(factor)
		}
	}
	return better
}

// quantities returns every quantity that a prediction uses.
func (h *Hardware) quantities() []namedQuantity {
	a := h.accelerator
	peak := &a.PeakFP32
	switch {
	case h.precision == device.TF32 && a.PeakTF32.Given():
		peak = &a.PeakTF32
	case h.precision == device.Half:
		peak = &a.PeakHalf
	}
	groupPeak, groupDevice := groupPeak, groupDevice
	if h.Colocated() {
		groupPeak, groupDevice = groupCore, groupCoreMemory
	}
	list := []namedQuantity{
		describe(groupPeak, "accelerator.peak", peak),
		curve(groupPeak, "accelerator.compute-share", &a.ComputeShare),
		describe(groupDevice, "accelerator.memory-bandwidth", &a.MemoryBandwidth),
		curve(groupDevice, "accelerator.memory-share", &a.MemoryShare),
		describe(groupDevice, "accelerator.launch", &a.Launch),
		describe("", "accelerator.memory", &a.Memory),
	}
	list = append(list, h.wireQuantities()...)
	for _, x := range []struct {
		name string
		host *device.HostProfile
	}{
		{"server", h.serverProfile}, {"embedding-workers", h.ewProfile}, {"embedding-ps", h.psProfile},
		{"loaders", h.loaderProfile},
	} {
		list = append(list,
			describe(groupHosts, x.name+".cores", &x.host.Cores),
			describe(groupHosts, x.name+".memory-bandwidth", &x.host.Bandwidth),
			describe(groupHosts, x.name+".copy-speed", &x.host.CopySpeed))
		if !h.Colocated() {
			list = append(list, describe(groupNetwork, x.name+".network", &x.host.Network))
			continue
		}
		break // all roles have the same host
	}
	list = append(list,
		describe("", "embedding-ps.memory", &h.psProfile.Memory),
		describe(groupRows, "embedding-ps.random-rows-per-second", &h.psProfile.RowsPerSec),
		describe(groupRows, "embedding-ps.row-time", &h.psProfile.RowTime),
		describe(groupMessages, "software.message-time", &h.software.MessageTime),
		describe(groupIDs, "software.id-time", &h.software.IDTime),
		describe("", "software.threads", &h.software.Threads))
	// A measured machine lacks some of them.
	return slices.DeleteFunc(list, func(p namedQuantity) bool { return p.assumption.Kind == "" })
}

func (h *Hardware) wireQuantities() []namedQuantity {
	groupInside := groupInside
	if h.Colocated() {
		groupInside = groupMemory
	}
	list := []namedQuantity{
		describe(groupInside, "inside.bandwidth", &h.inside.Bandwidth),
		describe("", "inside.share", &h.inside.Share),
		describe(groupInside, "inside.latency", &h.inside.Latency),
	}
	if h.Colocated() {
		return list
	}
	return append(list,
		describe(groupHostLink, "host-link.bandwidth", &h.hostLink.Bandwidth),
		describe("", "host-link.share", &h.hostLink.Share),
		describe(groupHostLink, "host-link.latency", &h.hostLink.Latency),
		describe("", "network.share", &h.network.Share),
		describe(groupLatency, "network.latency", &h.network.Latency))
}

// Assumptions returns all quantities on which a prediction for the hardware with a number of dense PSs rests.
func (h *Hardware) Assumptions(dense int) []Assumption {
	var list []Assumption
	for _, p := range h.quantities() {
		list = append(list, p.assumption)
	}
	if h.machine != nil {
		return list
	}
	for _, x := range []struct {
		name    string
		hosts   *quantity.Value[int]
		perHost int
	}{
		{"embedding-workers", &h.ewHosts, h.EWsPerHost},
		{"embedding-ps", &h.psHosts, h.PSsPerHost},
		{"loaders", &h.loaderHosts, 1},
	} {
		a := describe("", x.name+".count", x.hosts).assumption
		for _, n := range []*string{&a.Low, &a.Mid, &a.High} {
			*n += " hosts"
			if x.perHost > 1 {
				*n += fmt.Sprintf(" of %d", x.perHost)
			}
		}
		list = append(list, a)
	}
	if dense > 0 {
		n := fmt.Sprint(dense, " hosts")
		list = append(list, Assumption{"dense-ps.count", n, n, n, quantity.Default,
			"a modelling choice: each dense PS has a host of its own, like those of the PSs and beside them"})
	}
	return list
}
