package graph

import (
	"cmp"
	"slices"
)

// place returns the placements among which the one with the shortest step is the best. Two are found by each
// of several prices: one with the layouts that are good by these, and one with whole tables, so that no
// placement is worse than the simplest planner's. Prices depend on the tables and on the number of ranks and
// servers, but on no rate and no latency: they are relative to the work on the tables, and span what clusters
// have. So a cluster with a better resource has the same placements to choose from, as long as these fit its
// memories.
//
// If rules leave no table a choice of layouts, there is one placement. If there are few placements in all,
// these are all that no other is better than.
func (p *placer) place() ([]*plan, error) {
	if err := p.chooseTiers(); err != nil {
		return nil, err
	}
	if err := p.priceCollectives(); err != nil {
		return nil, err
	}
	free := false
	for i := range p.tables {
		t := &p.tables[i]
		t.options = p.layouts(t)
		free = free || len(t.options) > 1
	}
	if plans := p.all(); len(plans) > 0 {
		return plans, nil
	}
	a := &assignment{placer: p}
	if !free {
		a.arrange()
		if full := a.assign(make([]int, len(p.tables))); len(full) > 0 {
			return nil, a.noRoom(&p.tables[full[0]], &p.tables[full[0]].options[0])
		}
		return []*plan{p.plan(a.pieces)}, nil
	}
	var found [][]piece
	var errs []error
	var last prices
	for _, x := range p.candidatePrices() {
		if a.once = x.once; x.perByte != last.perByte {
			p.estimate(x.times)
			a.arrange()
			a.tried, a.outcomes = map[start]tried{}, map[string]outcome{}
		}
		last = *x
		if choices, err := a.search(); err != nil {
			errs = append(errs, err)
		} else {
			a.improve(choices)
			found = append(found, slices.Clone(a.pieces))
		}
		if a.whole() {
			found = append(found, slices.Clone(a.pieces))
		}
	}
	if len(found) == 0 {
		return nil, errs[0]
	}
	p.estimate(p.times)
	var plans []*plan
	for _, pieces := range found {
		x := p.plan(pieces)
		same := func(y *plan) bool {
			return x.most == y.most && x.layouts() == y.layouts() &&
				x.tables(p.net.ranks) == y.tables(p.net.ranks)
		}
		if !slices.ContainsFunc(plans, same) {
			plans = append(plans, x)
		}
	}
	return plans, nil
}

// whole places all tables whole as far as rules allow, the one with the most work by the present estimates
// first, each on the rank with the least, as the simplest planner does. It reports whether all have room.
func (a *assignment) whole() bool {
	choices := make([]int, len(a.tables))
	for i := range a.tables {
		choices[i] = max(0, slices.IndexFunc(a.tables[i].options, func(o option) bool {
			return o.layout == TableWise
		}))
	}
	return len(a.assign(choices)) == 0
}

// estimate sets the times of all layouts.
func (p *placer) estimate(times func(*load) times) {
	for i := range p.tables {
		for j := range p.tables[i].options {
			o := &p.tables[i].options[j]
			o.times = times(&o.load)
			o.seconds = o.times.sum()
		}
	}
}

// prices are those by which a candidate is found, in units of the mean time of a rank's kernels on tables.
type prices struct {
	stream  float64 // of a byte that kernels stream
	perByte times   // of collectives
	once    float64 // of each kind of collective in a step
}

// times returns the times of a load.
func (x *prices) times(l *load) (t times) {
	t[onTables] = x.stream * (l.streamed() + fetchedWeight*l.fetched + readWeight*l.read)
	t[ofRows], t[inServers] = l.exchange*x.perByte[ofRows], l.inside*x.perByte[inServers]
	t[amongRanks], t[ofReplicas] = l.scatter*x.perByte[amongRanks], l.reduce*x.perByte[ofReplicas]
	return t
}

// streamed returns the bytes that kernels stream.
func (l *load) streamed() float64 { return l.lookup + l.sort + l.update + l.dense }

// Bytes that an accelerator's memory streams in the time of a byte from the host's memory and of one from an
// SSD: of 2 to 3 TB/s, 25 to 50 GB/s and some 3 GB/s for each accelerator.
const (
	fetchedWeight = 64
	readWeight    = 1024
)

// candidatePrices returns prices for every combination of
//
//   - the time of exchanging the pooled rows of all tables, relative to that of the kernels on them: between
//     half, with fast wires and wide rows, and 16 times, with slow ones;
//   - the rate inside servers, relative to that of the network: about as fast for PCIe and fast cards, and up
//     to 16 times as fast for NVLink and slow ones;
//   - what a collective takes once, relative to the kernels: next to nothing for large batches, as much as a
//     tenth for small ones.
func (p *placer) candidatePrices() (list []*prices) {
	work, pooled := 0.0, 0.0
	for i := range p.tables {
		t := &p.tables[i]
		o := &t.options[0]
		if o.layout == DataParallel && len(t.options) > 1 {
			o = &t.options[1]
		}
		l := &o.load
		work += float64(o.ranks*o.parts) * (l.streamed() + fetchedWeight*l.fetched + readWeight*l.read)
		pooled += t.Values() * float64(p.precisions.Wire.Bytes())
	}
	insides := []float64{1. / 16, 1. / 2}
	if p.net.ranks <= p.net.perServer {
		insides = insides[:1] // there is no network to compare with
	}
	for _, exchange := range []float64{1. / 2, 2, 8, 16} {
		for _, inside := range insides {
			for _, once := range []float64{0.001, 0.1} {
				x := &prices{stream: float64(p.net.ranks) / work, once: once}
				x.perByte = p.relative(inside)
				scale := exchange / (p.local * pooled * x.perByte[ofRows])
				for k := range x.perByte {
					x.perByte[k] *= scale
				}
				list = append(list, x)
			}
		}
	}
	return list
}

// relative returns the times of collectives for a byte, where one over a rank's share of the network takes 1
// and one inside a server another time: of pooled rows and their gradients, an all-to-all each; of partial
// sums, a reduce-scatter and an all-gather; of gradients, an all-reduce.
func (p *placer) relative(inside float64) (t times) {
	per := float64(p.net.perServer)
	servers := max(1, float64(p.net.ranks)/per)
	within, across := inside*(per-1)/per, (servers-1)/servers
	t[ofRows] = 2 * (across + within/servers)
	t[inServers] = 2 * within
	t[amongRanks] = 2 * (within + across/per)
	t[ofReplicas] = 2 * (within + across/per)
	if p.net.ranks == 1 {
		t[ofRows] = 1 // nothing is sent
	}
	return t
}

// arrange sets the order in which parts of tables are placed, for every layout of each: those whose rules
// name ranks first, then from many ranks to few, and from much work to little.
func (a *assignment) arrange() {
	a.sequence, a.turns = a.sequence[:0], a.turns[:0]
	for i := range a.tables {
		a.turns = append(a.turns, make([]int, len(a.tables[i].options)))
		for j := range a.tables[i].options {
			a.sequence = append(a.sequence, turn{piece{i, 0, 0, &a.tables[i].options[j]}, j})
		}
	}
	slices.SortFunc(a.sequence, func(x, y turn) int {
		return cmp.Or(a.free(x.piece)-a.free(y.piece), cmp.Compare(y.ranks, x.ranks),
			cmp.Compare(y.seconds, x.seconds), cmp.Compare(x.table, y.table), cmp.Compare(x.choice, y.choice))
	})
	for at, x := range a.sequence {
		a.turns[x.table][x.choice] = at
	}
	a.chosen, a.last.marks = make([]uint64, (len(a.sequence)+63)/64), nil
}

// turn is the first part of a table in one of its layouts.
type turn struct {
	piece
	choice int
}
