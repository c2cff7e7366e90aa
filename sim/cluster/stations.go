package cluster

import (
	"math"

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
		a, many := &w.accelerators[i], w.fold.size(int32(i))
		r.AddFor(launcherStation, &a.launcher, many)
		r.AddFor(acceleratorStation, &a.kernels, many)
		r.AddFor(copiesStation, &a.copyIn, many)
		r.AddFor(copiesStation, &a.copyOut, many)
	}
	r.Add(allReduceChannel, w.reductions)
	for i := range w.hosts {
		h := &w.hosts[i]
		name := h.class.String()
		if h.goroutines != nil {
			r.Add(name+" cores", h.goroutines)
		} else {
			r.AddFor(name+" cores", pooledStation(h.cores, h.pool), h.many*h.pool)
		}
		r.AddFor(name+" memory", pooledStation(h.bus, h.pool), h.many*h.pool)
		for _, card := range w.graph.HostCards(h.node) {
			r.AddFor(name+" network out", &port{w.net, card}, h.many*h.pool)
			r.AddFor(name+" network in", &port{w.net, card + 1}, h.many*h.pool)
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
		// Of a thread for each core, simulated ranks have too few to say how busy they are; cores do.
		if w.fold != nil && w.places[i].service.AllCores {
			continue
		}
		if name := threadsName(w.instances[i].at.Role); name != "" {
			for _, lane := range w.instances[i].lanes {
				s, many := w.fold.stationOf(&w.instances[i], lane)
				r.AddFor(name, s, many)
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

// pooled is one of several equal stations that are simulated as one, where a piece of work can stand for
// several.
type pooled struct {
	station.Station
	servers float64 // of one of them
	pieces  float64 // … of work on each of them, for one that is simulated
}

// pooledStation returns one of a number of equal stations that are simulated as one.
func pooledStation(s station.Station, count float64) station.Station {
	if count == 1 {
		return s
	}
	return &pooled{s, s.Servers() / count, 1 / count}
}

// Servers implements station.Station.
func (p *pooled) Servers() float64 { return p.servers }

// Stats implements station.Station.
func (p *pooled) Stats(now unit.Tick) station.Stats {
	s := p.Station.Stats(now)
	return station.Stats{Busy: s.Busy.Scale(p.servers / p.Station.Servers()),
		Waited: s.Waited.Scale(p.pieces), Served: int64(math.Round(float64(s.Served) * p.pieces))}
}
