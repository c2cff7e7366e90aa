package cluster

import (
	"tandem/algo/protocol/role"
	"tandem/sim/cost"
	"tandem/sim/device"
	"tandem/sim/fabric"
	"tandem/sim/station"
	"tandem/sim/topo"
)

// host is a host under its roles. One host can stand for many like ones.
type host struct {
	class      hostClass
	cores      *station.Shared
	bus        *station.Shared // the memory, shared in equal parts
	model      *device.Host
	node       int                 // of the graph; the first of those that the host stands for
	nodes      int                 // of the same rack that it stands for
	goroutines *goroutineScheduler // of one machine's goroutines on its cores; nil: all share them at once
	dirty      bool                // a job started or ended since the last settlement
	next       [2]timer
	many       float64 // equal hosts that it stands for, and behaves as one of; at least 1
	pool       float64 // equal hosts whose cores, memory and cards it has together; at least 1
}

// coreRate and memoryRate return the resources of a host.
func (h *host) coreRate() resource   { return firstCores + resource(h.class.bought()) }
func (h *host) memoryRate() resource { return firstMemory + resource(h.class.bought()) }

// launcher is the resource of the host threads of ranks.
const launcher = firstCores + resource(serverHosts)

// hostClass is what a host is for.
type hostClass uint8

const (
	loaderHosts hostClass = iota
	workerHosts
	parameterHosts
	serverHosts
	machineHosts // of one machine, for all roles
	hostClasses
	denseHosts = hostClasses // hosts of the kind of parameterHosts, and improved with them
)

// bought returns the class of hosts of the same kind.
func (c hostClass) bought() hostClass {
	if c == denseHosts {
		return parameterHosts
	}
	return c
}

// String returns the name that reports print.
func (c hostClass) String() string {
	return [...]string{"loader", "EW", "PS", "GPU server", "machine", "dense PS"}[c]
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
	device  int // of cost.Resolved.Devices, for a rank
	// own says that a role that stands for several ranks is on the host of one of them; others see the
	// messages of all.
	own bool
	// threads is how many of the service threads of a role a piece of work has that stands for several; 0:
	// as many as it can use.
	threads float64
}

// single is the service of a role whose work is done by one thread, one piece after the other.
var single = cost.Service{Threads: 1, Width: 1}

// placeOn returns the place of a role of its own.
func placeOn(host int32, s cost.Service) place {
	return place{host: host, instancesHere: 1, instances: 1, stripe: 1, service: s}
}

// topology is who runs where.
type topology struct {
	hosts  []host
	places []place // in the order of the roster
	graph  *topo.Graph
	spec   topo.Spec
	nodes  int // in spec

	uplinks, zoneLinks []fabric.LinkID // of racks, and between zones
	ways               [][]*way        // by source and target host, as far as they are used
	path               []fabric.Hop    // a buffer
	reduce             reducePlan
	rates              rates
}

// newTopology lays the roles out. An EW is on host (index mod hosts), as is a PS; ranks fill one server after
// the other. A dense PS has a host to itself; a coordinator, which does next to nothing, is on that of the
// first, or else of the data loader. If ranks are folded, EWs and ranks are the simulated ones.
func newTopology(p *cost.Prices, r rates, cfg *role.Config, f *folding) (*topology, error) {
	workers, ranks, dense := int(cfg.EmbeddingWorkers), int(cfg.Ranks), len(cfg.DensePSs)
	t := &topology{rates: r}
	if p.Colocated() {
		t.colocate(p, workers+p.PSStates+ranks+dense)
		t.spec.Groups = []topo.Group{p.OneServer("machine", ranks)}
		return t, t.connect(p)
	}
	loader := t.addHosts(loaderHosts, p.LoaderHost,
		p.Hosts("loader", p.Cluster.Loaders.Zone, p.LoaderHost, p.LoaderHostCount), 1)
	t.places = append(t.places, place{
		host: loader, instancesHere: 1, instances: 1, stripe: 1 / float64(p.LoaderHostCount),
		service: cost.Service{Threads: 1, Width: p.LoaderHost.Cores,
			Jitter: float64(p.System.Loader.Jitter.Mid)},
	})
	t.addWorkers(p, workers, f)
	if p.PSStates == 1 {
		t.places = append(t.places, place{
			host: t.addHosts(parameterHosts, p.PSHost,
				p.Hosts("PS", p.Cluster.EmbeddingPSs.Zone, p.PSHost, 1), 1),
			instancesHere: p.EmbeddingPSs.PerHost, instances: p.Plan.Servers(), stripe: 1,
			service: p.PSService,
		})
	} else {
		n := p.Resolved.PSHostCount
		first := t.addHosts(parameterHosts, p.PSHost, p.Hosts("PS", p.Cluster.EmbeddingPSs.Zone, p.PSHost, n),
			n)
		for i := range p.PSStates {
			t.places = append(t.places, placeOn(first+int32(i%n), p.PSService))
		}
	}
	worker := single
	worker.Jitter = float64(p.System.NNWorker.Jitter.Mid)
	firstRank := len(t.places)
	groups, devices := p.Servers("GPU server", ranks)
	for k, g := range groups {
		first := t.addHosts(serverHosts, p.ServerHost, g, g.NodeCount())
		for i := range g.Accelerators {
			on := placeOn(first+int32(i/g.AcceleratorsPerNode), worker)
			on.device, on.own = devices[k], true
			t.places = append(t.places, on)
		}
	}
	for rank := range ranks {
		t.hosts[t.places[firstRank+rank].host].many = f.size(int32(rank))
	}
	coordinator := loader
	if dense > 0 {
		coordinator = t.addHosts(denseHosts, p.PSHost,
			p.Hosts("dense PS", p.Cluster.EmbeddingPSs.Zone, p.PSHost, dense), dense)
	}
	for i := range dense {
		t.places = append(t.places, placeOn(coordinator+int32(i), p.DensePSService))
	}
	t.places = append(t.places, placeOn(coordinator, single))
	if err := t.connect(p); err != nil || f == nil {
		return t, err
	}
	return t, t.reduceOverAll(p, f)
}

// addWorkers places the EWs. If they are folded, each simulated one has a host that is several together.
func (t *topology) addWorkers(p *cost.Prices, workers int, f *folding) {
	hosts, pool := p.EWHostCount, 1.0
	if f != nil {
		hosts, pool = workers, float64(p.EWHostCount)/float64(workers)
	}
	first := t.addHosts(workerHosts, p.EWHost,
		p.Hosts("EW", p.Cluster.EmbeddingWorkers.Zone, p.EWHost, hosts), hosts)
	for i := range workers {
		on := placeOn(first+int32(i%hosts), p.EWService)
		t.places = append(t.places, on)
		if f != nil {
			t.poolHosts(on.host, pool)
		}
	}
}

// poolHosts makes a host as much as a number of equal ones together.
func (t *topology) poolHosts(i int32, pool float64) {
	h := &t.hosts[i]
	h.pool, h.bus = pool, station.NewShared(pool)
	h.cores = station.NewShared(pool * float64(t.rates.count(h.coreRate(), h.model.Cores)))
}

// colocate puts every role on one host.
func (t *topology) colocate(p *cost.Prices, roles int) {
	t.addHost(machineHosts, p.LoaderHost)
	t.hosts[0].goroutines = &goroutineScheduler{cores: t.hosts[0].cores}
	for range 2 + roles { // the data loader and a coordinator
		t.places = append(t.places, placeOn(0, single))
	}
}

// addHosts adds a number of hosts on the nodes of a group and returns the first. A host can stand for all.
func (t *topology) addHosts(class hostClass, model *device.Host, g topo.Group, count int) int32 {
	first := len(t.hosts)
	for i := range count {
		t.addHost(class, model)
		t.hosts[first+i].node, t.hosts[first+i].nodes = t.nodes+i, 1
	}
	if count == 1 {
		t.hosts[first].nodes = max(1, g.Nodes)
	}
	t.nodes += max(count, g.Nodes)
	t.spec.Groups = append(t.spec.Groups, g)
	return int32(first)
}

func (t *topology) addHost(class hostClass, model *device.Host) {
	h := host{class: class, model: model, bus: station.NewShared(1), many: 1, pool: 1}
	h.cores = station.NewShared(float64(t.rates.count(h.coreRate(), model.Cores)))
	t.hosts = append(t.hosts, h)
}

// copies returns how often a message is sent and received on a place's host, for a message that is sent to,
// or by, everywhere-many instances in all.
func (p *place) copies(everywhere int) float64 {
	if p.instances > 1 {
		return float64(p.instancesHere)
	}
	return float64(everywhere) * p.stripe
}
