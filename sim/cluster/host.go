package cluster

import (
	"tandem/sim/cost"
	"tandem/sim/device"
	"tandem/sim/fabric"
	"tandem/sim/station"
)

// host is a host under its roles. One host can stand for many like ones.
type host struct {
	class      hostClass
	cores      *station.Shared
	bus        *station.Shared // the memory, shared in equal parts
	model      *device.Host
	up         fabric.LinkID // of its network card; none on one machine
	down       fabric.LinkID
	goroutines *goroutineScheduler // of one machine's goroutines on its cores; nil: all share them at once
	dirty      bool                // a job started or ended since the last settlement
	next       [2]timer
}

// hostClass is what a host is for.
type hostClass uint8

const (
	loaderHosts hostClass = iota
	workerHosts
	parameterHosts
	serverHosts
	denseHosts
	hostClasses
)

// String returns the name that reports print.
func (c hostClass) String() string {
	return [...]string{"loader", "EW", "PS", "GPU server", "dense PS"}[c]
}

// place is where a role runs.
type place struct {
	host int32
	// members is the number of instances that the role stands for on its host, and everywhere: more than 1
	// for folded PSs.
	instancesHere, instances int
	// stripe is the part of each message and job that one host sees: below 1 for the data loader, which
	// spreads over several.
	stripe float64
	// service is the number of pieces of work of a lane that are in service at once, and of the cores that
	// each can use.
	service cost.Service
}

// single is the service of a role whose work is done by one thread, one piece after the other.
var single = cost.Service{Threads: 1, Width: 1}

// topology is who runs where.
type topology struct {
	hosts  []host
	places []place // in the order of the roster
	links  []fabric.Link
	// servers hold the ranks, perServer on each.
	gpuServers, ranksPerServer int
}

// newTopology lays the roles out. An EW is on host (index mod hosts), as is a PS; ranks fill one server after
// the other. A dense PS has a host to itself; a coordinator, which does next to nothing, is on that of the
// first, or else of the data loader.
func newTopology(p *cost.Prices, workers, ranks, dense int) *topology {
	t := &topology{ranksPerServer: min(ranks, p.Cluster.AcceleratorsPerServer),
		gpuServers: (ranks + p.Cluster.AcceleratorsPerServer - 1) / p.Cluster.AcceleratorsPerServer}
	loader := t.addHost(loaderHosts, p.LoaderHost, p)
	if p.Colocated() {
		t.gpuServers, t.ranksPerServer = 1, ranks
		t.colocate(workers + p.PSStates + ranks + dense)
		return t
	}
	t.places = append(t.places, place{
		host: loader, instancesHere: 1, instances: 1, stripe: 1 / float64(p.LoaderHostCount),
		service: cost.Service{Threads: 1, Width: p.LoaderHost.Cores},
	})
	first := int32(len(t.hosts))
	for range p.EWHostCount {
		t.addHost(workerHosts, p.EWHost, p)
	}
	for i := range workers {
		t.places = append(t.places, place{
			host: first + int32(i%p.EWHostCount), instancesHere: 1, instances: 1, stripe: 1,
			service: p.EWService,
		})
	}
	first = int32(len(t.hosts))
	if p.PSStates == 1 {
		t.addHost(parameterHosts, p.PSHost, p)
		t.places = append(t.places, place{
			host: first, instancesHere: p.EmbeddingPSs.PerHost, instances: p.Plan.Servers(), stripe: 1,
			service: p.PSService,
		})
	} else {
		for range p.Resolved.PSHostCount {
			t.addHost(parameterHosts, p.PSHost, p)
		}
		for i := range p.PSStates {
			t.places = append(t.places, place{
				host: first + int32(i%p.Resolved.PSHostCount), instancesHere: 1, instances: 1, stripe: 1,
				service: p.PSService,
			})
		}
	}
	first = int32(len(t.hosts))
	for range t.gpuServers {
		t.addHost(serverHosts, p.ServerHost, p)
	}
	for rank := range ranks {
		t.places = append(t.places, place{
			host: first + int32(rank/p.Cluster.AcceleratorsPerServer), instancesHere: 1, instances: 1,
			stripe:  1,
			service: single,
		})
	}
	first = int32(len(t.hosts))
	for i := range dense {
		t.addHost(denseHosts, p.PSHost, p)
		t.places = append(t.places,
			place{host: first + int32(i), instancesHere: 1, instances: 1, stripe: 1,
				service: p.DensePSService})
	}
	coordinator := loader
	if dense > 0 {
		coordinator = first
	}
	t.places = append(t.places, place{host: coordinator, instancesHere: 1, instances: 1, stripe: 1,
		service: single})
	return t
}

// colocate puts every role on the one host.
func (t *topology) colocate(roles int) {
	for range 2 + roles { // the data loader and a coordinator
		t.places = append(t.places, place{instancesHere: 1, instances: 1, stripe: 1, service: single})
	}
}

func (t *topology) addHost(class hostClass, model *device.Host, p *cost.Prices) int32 {
	h := host{class: class, model: model, cores: station.NewShared(model.Cores), bus: station.NewShared(1)}
	if p.Colocated() {
		h.goroutines = &goroutineScheduler{cores: h.cores}
	} else {
		h.up, h.down = fabric.LinkID(len(t.links)), fabric.LinkID(len(t.links)+1)
		rate := model.Network * p.NetworkShare
		t.links = append(t.links, fabric.Link{Name: class.String() + " uplink", Capacity: rate},
			fabric.Link{Name: class.String() + " downlink", Capacity: rate})
	}
	t.hosts = append(t.hosts, h)
	return int32(len(t.hosts) - 1)
}

// copies returns how often a message is sent and received on a place's host, for a message that is sent to,
// or by, everywhere-many instances in all.
func (p *place) copies(everywhere int) float64 {
	if p.instances > 1 {
		return float64(p.instancesHere)
	}
	return float64(everywhere) * p.stripe
}
