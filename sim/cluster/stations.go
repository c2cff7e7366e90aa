package cluster

import (
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/sim/fabric"
	"tandem/sim/station"
)

// Classes of stations that belong to no host.
const (
	launcherStation    = "rank host threads"
	acceleratorStation = "accelerator"
	copiesStation      = "host-accelerator copies"
	allReduceChannel   = "all-reduce channel"
)

// registerStations registers every place where work waits. Equally busy classes are reported in this order.
func (w *simulation) registerStations() {
	r := &w.stations
	for i := range w.accelerators {
		a := &w.accelerators[i]
		r.Add(launcherStation, &a.launcher)
		r.Add(acceleratorStation, &a.kernels)
		r.Add(copiesStation, &a.copyIn)
		r.Add(copiesStation, &a.copyOut)
	}
	r.Add(allReduceChannel, w.reductions)
	for i := range w.hosts {
		h := &w.hosts[i]
		name := h.class.String()
		if h.goroutines != nil {
			r.Add(name+" cores", h.goroutines)
		} else {
			r.Add(name+" cores", h.cores)
		}
		r.Add(name+" memory", h.bus)
		for _, card := range w.graph.HostCards(h.node) {
			r.Add(name+" network out", &port{w.net, card})
			r.Add(name+" network in", &port{w.net, card + 1})
		}
	}
	for _, link := range w.zoneLinks {
		r.Add("links between zones", &port{w.net, link})
		r.Add("links between zones", &port{w.net, link + 1})
	}
	for _, uplink := range w.uplinks {
		r.Add("uplinks of racks, out", &port{w.net, uplink})
		r.Add("uplinks of racks, in", &port{w.net, uplink + 1})
	}
	for i := range w.instances {
		if name := threadsName(w.instances[i].at.Role); name != "" {
			for _, lane := range w.instances[i].lanes {
				r.Add(name, lane)
			}
		}
	}
}

// threadsName returns the name of the station that the service threads of a role are; empty for a rank, which
// works on its accelerator, and for a coordinator, which has no work.
func threadsName(r msg.Role) string {
	switch r {
	case msg.DataLoader:
		return "loader threads"
	case msg.EmbeddingWorker:
		return workerThreads.String()
	case msg.EmbeddingPS:
		return psThreads.String()
	case msg.DensePS:
		return densePSThreads.String()
	}
	return ""
}

// port is one direction of a host's network card as a station.
type port struct {
	net  *fabric.Fabric
	link fabric.LinkID
}

// Servers implements station.Station.
func (p *port) Servers() float64 { return 1 }

// Stats implements station.Station. Transfers wait by as much as they could use beyond the capacity: the
// queue of a link that two transfers share, each of which could use the whole link, is 1.
func (p *port) Stats(now unit.Tick) station.Stats {
	use := p.net.Use(now, p.link)
	return station.Stats{Busy: use.Busy, Waited: use.Excess, Served: use.Flows}
}
