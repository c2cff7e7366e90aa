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
	best, full := p.assign(choices)
	for best == nil {
		if choices[full]+1 == len(p.tables[full].options) {
			return nil, p.noRoom(&p.tables[full], &p.tables[full].options[choices[full]])
		}
		choices[full]++
		best, full = p.assign(choices)
	}
	for {
		now, table, layout := best, -1, 0
		for _, candidate := range now.heaviest {
			kept := choices[candidate]
			for option := range p.tables[candidate].options {
				if option == kept {
					continue
				}
				choices[candidate] = option
				if trial, _ := p.assign(choices); trial != nil && trial.score < best.score*(1-gainMin) {
					best, table, layout = trial, candidate, option
				}
			}
			choices[candidate] = kept
		}
		if table < 0 {
			return best, nil
		}
		choices[table] = layout
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

// assign places the tables as chosen. It returns no plan if the table that it names has no room.
func (p *placer) assign(choices []int) (out *plan, full int) {
	base := rankLoad{} // of all ranks
	out = &plan{}
	used := 0
	for i := range p.tables {
		o := &p.tables[i].options[choices[i]]
		for part := range o.parts {
			out.pieces = append(out.pieces, piece{i, part, 0, o})
		}
		if o.ranks < p.net.ranks {
			used += o.ranks * o.parts
		} else if base.take(o); !base.fits(&option{}, &rankLoad{}, &p.room) {
			return nil, i
		}
	}
	slices.SortStableFunc(out.pieces, func(a, b piece) int {
		return cmp.Or(cmp.Compare(b.ranks, a.ranks), cmp.Compare(b.seconds, a.seconds))
	})
	// Ranks without a piece are all alike: a server more than could be used stands for them.
	loads := make([]rankLoad, min(p.net.ranks, used+p.net.perServer))
	for i := range out.pieces {
		x := &out.pieces[i]
		out.mean += x.seconds * float64(x.ranks) / float64(p.net.ranks)
		if x.ranks == p.net.ranks {
			continue
		}
		if x.rank = leastLoaded(loads, x.option, &base, &p.room); x.rank < 0 {
			return nil, x.table
		}
		for r := x.rank; r < x.rank+x.ranks; r++ {
			loads[r].take(x.option)
		}
	}
	p.judge(out, &base, loads)
	return out, 0
}

// judge fills in what a plan costs.
func (p *placer) judge(out *plan, base *rankLoad, loads []rankLoad) {
	var hottest [kinds]int
	for r := range loads {
		l := &loads[r]
		out.most.most(&l.load)
		out.peak = max(out.peak, base.seconds+l.seconds)
		for k := range kinds {
			if l.times[k] > loads[hottest[k]].times[k] {
				hottest[k] = r
			}
		}
		for tier := range tiers {
			out.bytes[tier] = max(out.bytes[tier], base.bytes[tier]+l.bytes[tier])
		}
	}
	out.most.add(&base.load)
	for k := range kinds {
		powers := float64(p.net.ranks-len(loads)) * power32(base.times[k])
		for r := range loads {
			powers += power32(base.times[k] + loads[r].times[k])
		}
		out.score += math.Pow(powers, 1./32)
		heaviest, most := -1, 0.0
		for _, x := range out.pieces {
			if x.rank <= hottest[k] && hottest[k] < x.rank+x.ranks && x.times[k] > most {
				heaviest, most = x.table, x.times[k]
			}
		}
		if heaviest >= 0 && !slices.Contains(out.heaviest, heaviest) {
			out.heaviest = append(out.heaviest, heaviest)
		}
	}
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
	load
	times   times
	seconds float64 // of all kinds
	bytes   [tiers]float64
}

// leastLoaded returns the first of the ranks, neighbours in one server, that have the least work and room for
// a part of a table beside what all ranks have, or −1.
func leastLoaded(loads []rankLoad, o *option, base *rankLoad, room *[tiers]float64) (at int) {
	at = -1
	least := math.Inf(1)
	for r := 0; r+o.ranks <= len(loads); r += o.ranks {
		if l := &loads[r]; l.seconds < least && l.fits(o, base, room) {
			at, least = r, l.seconds
		}
	}
	return at
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
	l.load.add(&o.load)
	l.times.add(&o.times)
	l.seconds += o.seconds
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
