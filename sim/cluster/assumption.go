package cluster

import (
	"fmt"
	"slices"

	"tandem/algo/unit"
	"tandem/sim/device"
)

// Assumption is a quantity that an answer rests on, with its unit, as text.
type Assumption struct {
	Name   string      `json:"name"`
	Low    string      `json:"low"`
	Mid    string      `json:"mid"`
	High   string      `json:"high"`
	Kind   device.Kind `json:"kind"`
	Source string      `json:"source"`
}

// parameter is a quantity of some hardware that can be told and changed.
type parameter struct {
	group      string // what is improved together when sensitivity is measured
	assumption Assumption
	// improve makes the quantity better for throughput by a factor.
	improve func(factor float64)
}

// Groups of parameters.
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

// more describes a quantity of which more is better.
func more[U device.Number](group, name string, q *device.Quantity[U]) parameter {
	return describe(group, name, q, func(factor float64) { scale(q, factor) })
}

// less describes a quantity of which less is better.
func less[U device.Number](group, name string, q *device.Quantity[U]) parameter {
	return describe(group, name, q, func(factor float64) { scale(q, 1/factor) })
}

func describe[U device.Number](group, name string, q *device.Quantity[U], improve func(float64)) parameter {
	low, high := q.Range()
	return parameter{group, Assumption{name, text(low), text(q.Mid), text(high), q.Kind, q.Source}, improve}
}

// text prints a value in the unit that its whole range is easily compared in.
func text[U device.Number](value U) string {
	switch v := any(value).(type) {
	case unit.BytesPerSec:
		return fmt.Sprintf("%.4g GB/s", float64(v)/1e9)
	case unit.Tick:
		return fmt.Sprintf("%.4g µs", float64(v)/float64(unit.Microsecond))
	}
	return fmt.Sprint(value)
}

// scale multiplies a quantity with its range. Sensitivity is taken at Mid, so a
// whole number may end up unchanged.
func scale[U device.Number](q *device.Quantity[U], factor float64) {
	q.Low = U(float64(q.Low) * factor)
	q.Mid = U(float64(q.Mid) * factor)
	q.High = U(float64(q.High) * factor)
}

// curve describes the shares of peak that work of a size reaches.
func curve[U device.Number](group, name string, c *device.CurveProfile[U]) parameter {
	times := func(factor float64) string { return fmt.Sprintf("×%.3g", factor) }
	return parameter{group, Assumption{name, times(1 - c.Spread), times(1), times(1 + c.Spread), c.Kind, c.Source},
		func(factor float64) {
			for i := range c.Points {
				c.Points[i].Share = min(1, c.Points[i].Share*factor)
			}
		}}
}

// parameters lists every quantity that a prediction uses.
func (h *hardware) parameters() []parameter {
	a := h.accelerator
	peak := &a.PeakFP32
	switch {
	case h.precision == device.TF32 && a.PeakTF32.Given():
		peak = &a.PeakTF32
	case h.precision == device.Half:
		peak = &a.PeakHalf
	}
	groupPeak, groupDevice := groupPeak, groupDevice
	if h.colocated() {
		groupPeak, groupDevice = groupCore, groupCoreMemory
	}
	list := []parameter{
		more(groupPeak, "accelerator.peak", peak),
		curve(groupPeak, "accelerator.compute_share", &a.ComputeShare),
		more(groupDevice, "accelerator.memory_bandwidth", &a.MemoryBandwidth),
		curve(groupDevice, "accelerator.memory_share", &a.MemoryShare),
		less(groupDevice, "accelerator.launch", &a.Launch),
		more("", "accelerator.memory", &a.Memory),
	}
	list = append(list, h.wireParameters()...)
	for _, x := range []struct {
		name string
		host *device.HostProfile
	}{{"server", h.server}, {"embedding-workers", h.worker}, {"parameter-servers", h.parameter}, {"loaders", h.loader}} {
		list = append(list,
			more(groupHosts, x.name+".cores", &x.host.Cores),
			more(groupHosts, x.name+".memory_bandwidth", &x.host.Bandwidth),
			more(groupHosts, x.name+".copy_speed", &x.host.CopySpeed))
		if !h.colocated() {
			list = append(list, more(groupNetwork, x.name+".network", &x.host.Network))
			continue
		}
		break // all are one host
	}
	list = append(list,
		more("", "parameter-servers.memory", &h.parameter.Memory),
		more(groupRows, "parameter-servers.random_rows_per_second", &h.parameter.RowsPerSec),
		less(groupRows, "parameter-servers.row_time", &h.parameter.RowTime),
		less(groupMessages, "software.message-time", &h.software.MessageTime),
		less(groupIDs, "software.id-time", &h.software.IDTime),
		more("", "software.threads", &h.software.Threads))
	// A measured machine lacks some.
	return slices.DeleteFunc(list, func(p parameter) bool { return p.assumption.Kind == "" })
}

func (h *hardware) wireParameters() []parameter {
	groupInside := groupInside
	if h.colocated() {
		groupInside = groupMemory
	}
	list := []parameter{
		more(groupInside, "inside.bandwidth", &h.inside.Bandwidth),
		more("", "inside.share", &h.inside.Share),
		less(groupInside, "inside.latency", &h.inside.Latency),
	}
	if h.colocated() {
		return list
	}
	return append(list,
		more(groupHostLink, "host-link.bandwidth", &h.hostLink.Bandwidth),
		more("", "host-link.share", &h.hostLink.Share),
		less(groupHostLink, "host-link.latency", &h.hostLink.Latency),
		more("", "network.share", &h.network.Share),
		less(groupLatency, "network.latency", &h.network.Latency))
}

// assumptions lists what an answer about a spec with some dense PSs rests on.
func assumptions(s *Spec, h *hardware, dense int) []Assumption {
	var list []Assumption
	for _, p := range h.parameters() {
		list = append(list, p.assumption)
	}
	if s.machine != nil {
		return list
	}
	for _, x := range []struct {
		name  string
		hosts Hosts
	}{{"embedding-workers", s.EmbeddingWorkers}, {"parameter-servers", s.ParameterServers}, {"loaders", s.Loaders}} {
		q := x.hosts.count(s.Source)
		a := more("", x.name+".count", &q).assumption
		for _, n := range []*string{&a.Low, &a.Mid, &a.High} {
			*n = x.hosts.describe(*n)
		}
		list = append(list, a)
	}
	if dense > 0 {
		n := fmt.Sprint(dense, " hosts")
		list = append(list, Assumption{"dense-servers.count", n, n, n, device.Default,
			"a modelling choice: each dense PS has a host of its own, like those of the PSs and beside them"})
	}
	return list
}
