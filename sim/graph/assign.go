package graph

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tandem/algo/unit"
)

// place finds the placement, by two searches: one begins with replicas of tables that cost all ranks together
// less so, one with replicas of tables that cost a rank less so.
func (p *placer) place() (*plan, error) {
	if err := p.chooseTiers(); err != nil {
		return nil, err
	}
	few, many := make([]int, len(p.tables)), make([]int, len(p.tables))
	for i := range p.tables {
		t := &p.tables[i]
		if t.options = p.layouts(t); len(t.options) == 0 {
			return nil, fmt.Errorf("graph: table %s: layout %q; want %s, %s, %s, %s or %s", t.Name,
				t.rule.Layout, TableWise, ColumnWise, RowWise, ServerRowWise, DataParallel)
		}
		if o := t.options; len(o) > 1 && o[0].layout == DataParallel {
			if o[0].seconds*float64(p.net.ranks) > o[1].seconds {
				few[i] = 1
			}
			if o[0].seconds > o[1].seconds {
				many[i] = 1
			}
		}
	}
	best, err := p.search(few)
	if err != nil || slices.Equal(few, many) {
		return best, err
	}
	if other, err := p.search(many); err == nil && other.score < best.score {
		return other, nil
	}
	return best, nil
}

// search begins with chosen layouts: tables on the least loaded ranks, the most expensive first. A table for
// which no rank has room is cut. Then, step by step, the layout changes that saves the most time: of a table
// that takes the most of some kind of work on the rank that has the most of it.
func (p *placer) search(choices []int) (*plan, error) {
	choices = slices.Clone(choices)
	a := &assignment{placer: p}
	for full := a.assign(choices); full >= 0; full = a.assign(choices) {
		if choices[full]+1 == len(p.tables[full].options) {
			return nil, p.noRoom(&p.tables[full], &p.tables[full].options[choices[full]])
		}
		choices[full]++
	}
	best := a.score()
	for {
		table, layout := -1, 0
		for _, candidate := range a.heaviest() {
			kept := choices[candidate]
			for option := range p.tables[candidate].options {
				choices[candidate] = option
				if option == kept || a.assign(choices) >= 0 {
					continue
				}
				if score := a.score(); score < best*(1-gainMin) {
					best, table, layout = score, candidate, option
				}
			}
			choices[candidate] = kept
		}
		if table >= 0 {
			choices[table] = layout
		}
		a.assign(choices)
		if table < 0 {
			return a.plan(best), nil
		}
	}
}

// gainMin is the part of the score that another layout must save.
const gainMin = 1e-3

// Kinds of work of which a step awaits the rank that has the most.
const (
	onTables   = iota // kernels, and rows from lower tiers
	ofIDs             // input distribution
	ofRows            // all-to-all of pooled rows and their gradients
	inServers         // partial sums among the ranks of a server
	amongRanks        // … among all ranks
	ofReplicas        // gradients of replicas
	kinds
)

// times are seconds of each kind of work.
type times [kinds]float64

func (t *times) add(o *times) {
	for k := range kinds {
		t[k] += o[k]
	}
}

func (t *times) sum() (sum float64) {
	for _, x := range t {
		sum += x
	}
	return sum
}

// assignment is a placement in the making. Its memory serves one choice of layouts after the other.
type assignment struct {
	*placer
	order   []piece // the first part of each table, in the order of placement
	pieces  []piece
	base    rankLoad   // what all ranks have
	loads   []rankLoad // what ranks have besides; those that are not listed have nothing
	seconds []float64  // of loads
}

// assign places the tables as chosen. It returns the table for which no rank has room, or −1.
func (a *assignment) assign(choices []int) (full int) {
	a.order, a.pieces, a.base = a.order[:0], a.pieces[:0], rankLoad{}
	used := 0
	for i := range a.tables {
		o := &a.tables[i].options[choices[i]]
		a.order = append(a.order, piece{i, 0, 0, o})
		if o.ranks < a.net.ranks {
			used += o.ranks * o.parts
		} else if a.base.take(o); !a.base.fits(&option{}, &rankLoad{}, &a.room) {
			return i
		}
	}
	slices.SortFunc(a.order, func(x, y piece) int {
		return cmp.Or(cmp.Compare(y.ranks, x.ranks), cmp.Compare(y.seconds, x.seconds),
			cmp.Compare(x.table, y.table))
	})
	// Ranks without a piece are all alike: a server more than could be used stands for them.
	ranks := min(a.net.ranks, used+a.net.perServer)
	a.loads, a.seconds = slices.Grow(a.loads[:0], ranks)[:ranks], slices.Grow(a.seconds[:0], ranks)[:ranks]
	clear(a.loads)
	clear(a.seconds)
	for _, x := range a.order {
		for x.part = range x.parts {
			if x.ranks < a.net.ranks {
				if x.rank = a.leastLoaded(x.option); x.rank < 0 {
					return x.table
				}
				for r := x.rank; r < x.rank+x.ranks; r++ {
					a.loads[r].take(x.option)
					a.seconds[r] += x.seconds
				}
			}
			a.pieces = append(a.pieces, x)
		}
	}
	return -1
}

// leastLoaded returns the first of the ranks, neighbours in one server, that have the least work and room for
// a part of a table beside what all ranks have, or −1.
func (a *assignment) leastLoaded(o *option) (at int) {
	at = -1
	least := math.Inf(1)
	for r := 0; r+o.ranks <= len(a.seconds); r += o.ranks {
		if s := a.seconds[r]; s < least && a.loads[r].fits(o, &a.base, &a.room) {
			at, least = r, s
		}
	}
	return at
}

// score returns the sum over the kinds of work of about the largest time of any rank.
func (a *assignment) score() (score float64) {
	for k := range kinds {
		powers := float64(a.net.ranks-len(a.loads)) * power32(a.base.times[k])
		for r := range a.loads {
			powers += power32(a.base.times[k] + a.loads[r].times[k])
		}
		score += math.Pow(powers, 1./32)
	}
	return score
}

// heaviest returns the tables that take the most of each kind of work on the rank that has the most of it.
func (a *assignment) heaviest() (tables []int) {
	for k := range kinds {
		hottest := 0
		for r := range a.loads {
			if a.loads[r].times[k] > a.loads[hottest].times[k] {
				hottest = r
			}
		}
		table, most := -1, 0.0
		for _, x := range a.pieces {
			if x.rank <= hottest && hottest < x.rank+x.ranks && x.times[k] > most {
				table, most = x.table, x.times[k]
			}
		}
		if table >= 0 && !slices.Contains(tables, table) {
			tables = append(tables, table)
		}
	}
	return tables
}

// plan returns the placement with its score.
func (a *assignment) plan(score float64) *plan {
	out := &plan{pieces: slices.Clone(a.pieces), score: score}
	works := make([]load, len(a.loads))
	var base load
	for _, x := range a.pieces {
		out.mean += x.seconds * float64(x.ranks) / float64(a.net.ranks)
		if x.ranks == a.net.ranks {
			base.add(&x.load)
			continue
		}
		for r := x.rank; r < x.rank+x.ranks; r++ {
			works[r].add(&x.load)
		}
	}
	for r := range a.loads {
		out.most.most(&works[r])
		out.peak = max(out.peak, a.base.times.sum()+a.seconds[r])
		for tier := range tiers {
			out.bytes[tier] = max(out.bytes[tier], a.base.bytes[tier]+a.loads[r].bytes[tier])
		}
	}
	out.most.add(&base)
	return out
}

// power32 returns x to the power of 32. The root of the sum of such powers of the ranks' times is nearly the
// largest of them, and also falls if one of several equal ones does.
func power32(x float64) float64 {
	for range 5 {
		x *= x
	}
	return x
}

// rankLoad is what a rank has.
type rankLoad struct {
	times times
	bytes [tiers]float64
}

func (l *rankLoad) fits(o *option, base *rankLoad, room *[tiers]float64) bool {
	for tier := range tiers {
		if base.bytes[tier]+l.bytes[tier]+o.bytes[tier] > room[tier] {
			return false
		}
	}
	return true
}

func (l *rankLoad) take(o *option) {
	l.times.add(&o.times)
	for tier := range tiers {
		l.bytes[tier] += o.bytes[tier]
	}
}

// noRoom explains why a part of a table fits on no rank.
func (p *placer) noRoom(t *placed, o *option) error {
	return fmt.Errorf("graph: table %s by %s: %v rows of %v take %v of accelerators, %v of hosts and %v of "+
		"SSDs "+
		"on each of %d ranks, which have %v, %v and %v for this and other tables: %w; use more GPUs, "+
		"narrower "+
		"rows, or another layout",
		t.Name, o.layout, o.rows, unit.Bytes(t.row), unit.Bytes(o.bytes[0]), unit.Bytes(o.bytes[1]),
		unit.Bytes(o.bytes[2]), o.ranks*o.parts, unit.Bytes(p.room[0]), unit.Bytes(p.room[1]),
		unit.Bytes(p.room[2]), ErrMemory)
}

// layouts returns the number of different layouts of a plan.
func (out *plan) layouts() int {
	seen := map[Layout]bool{}
	for _, x := range out.pieces {
		seen[x.layout] = true
	}
	return len(seen)
}

// shards describes the pieces of a plan.
func (p *placer) shards(out *plan) []Shard {
	shards := make([]Shard, len(out.pieces))
	for i, x := range out.pieces {
		t := &p.tables[x.table]
		shards[i] = Shard{Table: t.Name, Layout: x.layout, Part: x.part, Rank: x.rank, Ranks: x.ranks,
			Rows: x.rows, Dim: x.dim, Tier: t.tier, Cached: t.cached, Bytes: unit.Bytes(x.bytes[0]),
			Seconds: x.seconds}
	}
	return shards
}
