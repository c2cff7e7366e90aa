package graph

import (
	"cmp"
	"fmt"

	"tandem/algo/unit"
	"tandem/sim/model"
	"tandem/sim/popularity"
)

// Layout is how a table is cut.
type Layout string

// The layouts.
const (
	TableWise     Layout = "table-wise"      // whole, on one rank
	ColumnWise    Layout = "column-wise"     // parts of all rows on several ranks
	RowWise       Layout = "row-wise"        // rows spread over all ranks, which add up partial sums
	ServerRowWise Layout = "server-row-wise" // rows spread over the ranks of one server
	Grid          Layout = "grid"            // parts of all rows on several servers, each on all ranks there
	DataParallel  Layout = "data-parallel"   // a replica on every rank, with an all-reduce of gradients
)

// Tier is the memory that holds all rows of a table. The accelerator's memory caches the rows of the lower
// tiers that were used last, and the host's memory those on SSDs.
type Tier string

// tiers is the number of tiers.
const tiers = 3

// The tiers.
const (
	HBM Tier = "hbm"
	DDR Tier = "ddr"
	SSD Tier = "ssd"
)

// Shard is a part of a table on a rank, or on several.
type Shard struct {
	Table   string
	Layout  Layout
	Part    int
	Rank    int // the first
	Ranks   int // that have an equal part
	Rows    float64
	Dim     int
	Tier    Tier
	Cached  float64    // share of the rows in the accelerator's memory
	Bytes   unit.Bytes // on each of the ranks, in the accelerator's memory
	Seconds float64    // of each of the ranks in a step, by which shards are placed
}

// columnsMin is the smallest number of values of a part of a row that the greedy placement makes: a transfer
// of an accelerator's memory in fp32.
const columnsMin = 32

// option is one layout of a table, with the work of every rank that has a part.
type option struct {
	layout  Layout
	parts   int // that have different ranks
	ranks   int // of each part
	load    load
	times   times
	seconds float64 // their sum
	rows    float64 // of each rank
	dim     int
	bytes   [tiers]float64 // … in its memory, and its share of the server's memory and SSDs
}

// placed is a table on its way to a placement.
type placed struct {
	*model.Table
	rule    Rule
	options []option
	tier    Tier
	cached  float64 // share of the rows in the accelerator's memory
	warm    float64 // … in the accelerator's or the host's
	row     float64 // bytes, with state
}

// placer places tables by cost.
type placer struct {
	kernels
	net     *network
	cluster *Cluster
	tables  []placed
	batch   float64        // of all ranks
	local   float64        // of one
	room    [tiers]float64 // bytes for tables of each rank
	missed  map[cacheUse]float64
	perByte times // of the kinds of work that are collectives, in a step
}

// plan is a placement with the work of the busiest ranks.
type plan struct {
	pieces []piece
	most   load           // of each kind of work, that of the rank with the most
	peak   float64        // seconds of the rank with the most
	mean   float64        // … of all ranks
	bytes  [tiers]float64 // of the rank with the most
}

// piece is a part of a table with its place.
type piece struct {
	table, part, rank int
	*option
}

// layouts lists the layouts of a table: replicas first, then from coarse to fine.
func (p *placer) layouts(t *placed) (list []option) {
	ranks, per := float64(p.net.ranks), float64(p.net.perServer)
	distinct := t.Distinct(p.batch)
	add := func(layout Layout, parts, on int, u use, rows float64) {
		o := option{layout: layout, parts: parts, ranks: on, load: p.load(u), rows: rows, dim: u.dim}
		p.communicate(&o, t)
		p.fetch(&o, t, u)
		o.bytes = p.bytes(t, rows, u.dim)
		o.times = p.times(&o.load)
		o.seconds = o.times.sum()
		list = append(list, o)
	}
	vectors := t.Values() / float64(t.Dim) // of a sample: more than one in sequences
	all := use{p.batch, p.batch * vectors, p.batch * t.IDs, distinct, t.Dim}
	if p.net.ranks == 1 {
		add(TableWise, 1, 1, all, t.Rows)
		return list
	}
	if want := t.rule.Layout; want == DataParallel || want == "" && t.tier == HBM {
		local := use{p.local, p.local * vectors, p.local * t.IDs, t.Distinct(p.local), t.Dim}
		add(DataParallel, 1, p.net.ranks, local, t.Rows)
	}
	if want := t.rule.Layout; want == "" || want == TableWise {
		add(TableWise, 1, 1, all, t.Rows)
	}
	for _, parts := range t.cuts(ColumnWise, p.net.ranks) {
		add(ColumnWise, parts, 1, all.columns(parts), t.Rows)
	}
	if want := t.rule.Layout; want == ServerRowWise || want == "" && p.net.ranks > p.net.perServer {
		add(ServerRowWise, 1, p.net.perServer, all.part(per, t), t.Rows/per)
	}
	for _, parts := range t.cuts(Grid, p.net.ranks/p.net.perServer) {
		add(Grid, parts, p.net.perServer, all.columns(parts).part(per, t), t.Rows/per)
	}
	if want := t.rule.Layout; want == RowWise || want == "" {
		add(RowWise, 1, p.net.ranks, all.part(ranks, t), t.Rows/ranks)
	}
	return list
}

// cuts returns the numbers of parts into which a layout cuts the rows of a table, at most one for each of
// some places.
func (t *placed) cuts(layout Layout, places int) (list []int) {
	if want := t.rule.Layout; want == layout {
		return []int{cmp.Or(t.rule.Parts, 2)}
	} else if want != "" {
		return nil
	}
	for parts := 2; t.Dim%parts == 0 && t.Dim/parts >= columnsMin && parts <= places; parts *= 2 {
		list = append(list, parts)
	}
	return list
}

// columns returns the use of the widest of some parts of all rows.
func (u use) columns(parts int) use {
	u.dim = (u.dim + parts - 1) / parts
	return u
}

// part returns the use of the busiest of some equal parts of the rows: a partial sum of every output. The
// part has the most frequent row beside its share of all other ids.
func (u use) part(parts float64, t *placed) use {
	top := t.Frequencies.Top()
	if t.Derived && t.IDs > 1 { // as frequent as the first ids, but only one of them
		top /= t.IDs
	}
	u.occurrences *= top + (1-top)/parts
	u.distinct /= parts
	return u
}

// pooled returns the bytes of a pooled row on the wire.
func (p *placer) pooled(dim int) float64 { return float64(dim) * float64(p.precisions.Wire.Bytes()) }

// communicate adds the bytes of collectives to an option.
func (p *placer) communicate(o *option, t *placed) {
	vectors := t.Values() / float64(t.Dim) // of a sample: more than one in sequences
	sent := p.batch * vectors * p.pooled(o.dim)
	switch o.layout {
	case DataParallel:
		values := o.rows * float64(o.dim)
		o.load.ids = 0
		o.load.reduce = values * float64(p.precisions.Gradients.Bytes())
		row := float64(p.precisions.Rows.Bytes())*float64(o.dim) + float64(p.optimizer.State(o.dim))
		o.load.update = 0 // the optimizer reads and writes all rows
		o.load.dense = 2*o.rows*row + o.load.reduce
	case RowWise:
		o.load.scatter = sent
	case ServerRowWise, Grid:
		o.load.inside, o.load.exchange = sent, sent/float64(p.net.perServer)
	default:
		o.load.exchange = sent
	}
}

// fetch adds the rows that come from lower tiers.
func (p *placer) fetch(o *option, t *placed, u use) {
	if t.tier == HBM || u.distinct == 0 {
		return
	}
	row := float64(u.dim) * t.row / float64(t.Dim)
	missed := p.missing(t, t.cached) * u.distinct
	o.load.fetched = missed * row
	if t.tier == SSD {
		cold := p.missing(t, t.warm) * u.distinct
		o.load.reads = cold
		o.load.read = cold * max(row, blockBytes)
	}
}

// blockBytes is the smallest read of an SSD.
const blockBytes = 4096

// missing returns the share of a batch's distinct rows that a cache of a share of the rows does not hold. The
// cache keeps the rows of the last batches, as FBGEMM's does.
func (p *placer) missing(t *placed, cached float64) float64 {
	draws := p.batch * t.IDs
	if t.Derived {
		draws = p.batch
	}
	key := cacheUse{t.Rows, draws, t.Frequencies.Top(), cached}
	missing, ok := p.missed[key]
	if !ok {
		ids := popularity.New(t.Rows, t.Frequencies.Share)
		missing = min(1, ids.LRUMisses(draws, cached*t.Rows)/t.Frequencies.Distinct(draws))
		if p.missed == nil {
			p.missed = map[cacheUse]float64{}
		}
		p.missed[key] = missing
	}
	if t.Derived && t.IDs > 1 { // the other ids are spread over all rows
		missing = (missing + (t.IDs-1)*(1-cached)) / t.IDs
	}
	return missing
}

// cacheUse identifies the use of a cache by tables of a group, which are alike.
type cacheUse struct{ rows, draws, top, cached float64 }

// times returns the times by which tables are placed, without those that are due once in a step.
func (p *placer) times(l *load) (t times) {
	fetch, _ := p.fetchSeconds(l)
	t[onTables] = l.streamed()/p.streamRate() + fetch
	t[ofRows], t[inServers] = l.exchange*p.perByte[ofRows], l.inside*p.perByte[inServers]
	t[amongRanks], t[ofReplicas] = l.scatter*p.perByte[amongRanks], l.reduce*p.perByte[ofReplicas]
	return t
}

// priceCollectives takes the time of each kind of collective as linear between two sizes: that of all ranks
// having equal parts, or of one table, and four times as much.
func (p *placer) priceCollectives() error {
	if p.net.ranks == 1 {
		return nil
	}
	pooled, widest := 0.0, 0.0
	for i := range p.tables {
		t := &p.tables[i]
		row := t.Values() * float64(p.precisions.Wire.Bytes())
		pooled, widest = pooled+row, max(widest, row)
	}
	for kind, x := range [kinds]struct {
		bytes float64
		times float64 // in a step
		price func(bytes float64) (cost, error)
	}{
		ofRows: {p.local * pooled, 2, p.net.allToAll},
		inServers: {p.batch * widest, 2, func(bytes float64) (cost, error) {
			return p.net.reduceScatter(p.net.server, bytes)
		}},
		amongRanks: {p.batch * widest, 2, func(bytes float64) (cost, error) {
			return p.net.reduceScatter(p.net.world, bytes)
		}},
		ofReplicas: {1 << 20, 1, p.net.allReduce},
	} {
		if x.price == nil {
			continue
		}
		little, err := x.price(x.bytes)
		if err != nil {
			return fmt.Errorf("graph: %w", err)
		}
		much, err := x.price(4 * x.bytes)
		if err != nil {
			return fmt.Errorf("graph: %w", err)
		}
		p.perByte[kind] = x.times * (much.time - little.time).Seconds() / (3 * x.bytes)
	}
	return nil
}

// fetchSeconds returns the time of fetching rows from the server's memory and SSDs, and what binds it. Rows
// that make room go the other way, on a host link at the same time, on SSDs one after the other.
func (p *placer) fetchSeconds(l *load) (seconds float64, from string) {
	if l.fetched == 0 {
		return 0, ""
	}
	per := float64(p.net.perServer)
	seconds, from = l.fetched/float64(p.cluster.HostLink.Bandwidth), HostLink
	if s := 2 * l.fetched * per / float64(p.cluster.Server.Bandwidth); s > seconds {
		seconds, from = s, HostMemory
	}
	if l.read > 0 {
		s := 2 * per * max(l.read/float64(p.cluster.Server.SSDBandwidth),
			l.reads/p.cluster.Server.SSDReadsPerSec)
		if s > seconds {
			seconds, from = s, Drives
		}
	}
	return seconds, from
}
