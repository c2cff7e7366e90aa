package cluster

import (
	"cmp"
	"math"

	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/sim/cost"
)

// Jobs of more than foldAbove ranks are simulated with about foldRanks of them. Where each has messages for
// more than foldDensePSs dense PSs there are fewer, but at least foldRanksMin.
const (
	foldAbove    = 512
	foldRanks    = 64
	foldRanksMin = 32
	foldDensePSs = 32
)

// A job is not folded with fewer EWs than foldWorkersMin: those that are simulated would differ too much from
// all. Nor is it with more accelerators a server than foldServerMax: too few servers would be simulated.
const (
	foldWorkersMin = 16
	foldServerMax  = 16
)

// folding says which ranks and EWs the simulated ones stand for: see the package comment. A nil folding means
// that each stands for itself.
type folding struct {
	config  *role.Config // of the job, with all ranks and EWs
	roster  role.Roster  // of these
	ranks   []rankClass  // by simulated rank
	mean    float64      // ranks of a class
	workers float64      // EWs that a simulated one stands for

	meets   bool // ranks meet in every step, so that the slowest of each class decides
	exposed bool // … and waits in each for its rows, and others for its gradients
	// parallelWorker and parallelPS say that EWs and PSs have a thread for every batch. Else batches wait for
	// each other, and it takes the mean of many until a batch is done.
	parallelWorker, parallelPS bool

	weights [chainCount][]chainLink  // what a rank waits for
	slowest [chainCount]memberOfStep // of each class
}

// rankClass is the ranks that a simulated one stands for: the ranks at the same place of several servers.
type rankClass struct{ first, stride, size int32 }

// newFolding returns how the ranks of a job are folded, or nil if each of them is simulated.
func newFolding(p *cost.Prices, cfg *role.Config, o *Options) *folding {
	ranks := o.fold
	if ranks == 0 {
		if !worthFolding(p, cfg) {
			return nil
		}
		ranks = foldRanks
		if n := len(cfg.DensePSs); n > foldDensePSs {
			ranks = max(foldRanksMin, foldRanks*foldDensePSs/n)
		}
	}
	if ranks < 0 || !foldable(p, cfg, o) {
		return nil
	}
	per := p.Cluster.AcceleratorsPerServer
	full := int(cfg.Ranks) / per
	each := max(1, (full*per+ranks-1)/ranks) // servers that one stands for
	servers := max(2, (full+each-1)/each)    // of one, the all-reduce has no way between servers
	if servers >= full {
		return nil
	}
	f := &folding{config: cfg, roster: cfg.Roster()}
	for s := range servers {
		first, end := s*full/servers, (s+1)*full/servers
		for place := range per {
			f.ranks = append(f.ranks, rankClass{int32(first*per + place), int32(per), int32(end - first)})
		}
	}
	for rank := full * per; rank < int(cfg.Ranks); rank++ { // of a server that is not full
		f.ranks = append(f.ranks, rankClass{int32(rank), 0, 1})
	}
	f.mean = float64(cfg.Ranks) / float64(len(f.ranks))
	f.workers = float64(cfg.EmbeddingWorkers) /
		max(1, math.Round(float64(cfg.EmbeddingWorkers)/f.mean))
	f.meets = cfg.Rule.Dense().Strategy == pace.Reduced
	f.parallelWorker, f.parallelPS = p.EWService.AllCores, p.PSService.AllCores
	f.exposed = f.meets && cfg.Rule.InStep()
	return f
}

// worthFolding reports whether a job has enough ranks that it pays, and enough EWs, each on a host of its
// own, and servers, that those which are simulated are like all.
func worthFolding(p *cost.Prices, cfg *role.Config) bool {
	workers := int(cfg.EmbeddingWorkers)
	return cfg.Ranks > foldAbove && workers >= foldWorkersMin && p.EWHostCount >= workers &&
		p.Cluster.AcceleratorsPerServer <= foldServerMax
}

// foldable reports whether the ranks of a job are alike and no option asks for each of them, and the rule is
// one under which a rank can stand for several.
func foldable(p *cost.Prices, cfg *role.Config, o *Options) bool {
	d := cfg.Rule.Dense()
	switch {
	case p.Cluster.Unfold, p.Colocated(), len(p.Mixed) > 0, p.PSStates > 1:
		return false
	case cmp.Or(p.Cluster.Topology.Kind, job.TopologyFlat) != job.TopologyFlat:
		return false
	case p.Job.HasRowsOnGPU(): // ranks wait for each other within a step
		return false
	case o.Numerics != nil, o.Observer != nil, o.Timeline != nil, o.DeviceSpread > 0, p.Job.Faults.Any():
		return false
	case d.Coordinator || cfg.Rule.Lead() < pace.Unbounded:
		return false
	}
	for r := msg.DataLoader; r <= msg.Coordinator; r++ {
		if p.Job.Slow.Differ(r) {
			return false
		}
	}
	return d.Strategy == pace.Reduced || d.Strategy == pace.Served
}

// configOf returns the configuration of the simulated roles.
func (f *folding) configOf(cfg *role.Config) *role.Config {
	if f == nil {
		return cfg
	}
	c := *cfg
	c.Ranks = int32(len(f.ranks))
	c.EmbeddingWorkers = int32(math.Round(float64(cfg.EmbeddingWorkers) / f.workers))
	return &c
}

// size returns the number of ranks that a simulated one stands for; 1 for what belongs to no rank.
func (f *folding) size(rank int32) float64 {
	if f == nil || rank < 0 {
		return 1
	}
	return float64(f.ranks[rank].size)
}

// member returns a rank of the job that a simulated one stands for.
func (f *folding) member(rank, i int32) int32 {
	if f == nil || rank < 0 {
		return rank
	}
	c := f.ranks[rank]
	return c.first + i*c.stride
}

// roleOf returns the number that a simulated role has among all roles of the job, where PSs are folded, when
// it works for a batch of one of the job's ranks.
func (f *folding) roleOf(w *simulation, index, rank, step int32) int32 {
	if f == nil {
		return index
	}
	at := w.instances[index].at
	switch {
	case at.Role == msg.EmbeddingWorker && rank < 0:
		return index
	case at.Role == msg.EmbeddingWorker:
		at = f.config.WorkerOf(rank, step)
	case at.Role == msg.NNWorker:
		at.Index = rank
	}
	i, _ := f.roster.Index(at)
	return int32(i)
}

// stalenessOfAll returns the staleness of the reads of simulated ranks, in batches and updates of all ranks.
// Members of a class do everything at the same time: with n other batches outstanding there are n+1, each for
// mean of them, of which one is the batch itself. Of updates, those of its own class are half done.
func (f *folding) stalenessOfAll(s *pace.Staleness) pace.Staleness {
	all := *s
	all.Inflight, all.Dense = histogram.Histogram{}, histogram.Histogram{}
	for n, times := range s.Inflight.All() {
		all.Inflight.AddCount(int(math.Round(f.mean*float64(n+1)))-1, times)
	}
	for n, times := range s.Dense.All() {
		all.Dense.AddCount(int(math.Round(f.mean*float64(n)+(f.mean-1)/2)), times)
	}
	return all
}
