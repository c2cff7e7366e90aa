package graph

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tandem/algo/unit"
)

// place finds the placement: every table whole on the least loaded rank, the most expensive first. While the
// most loaded rank has a table that could be cut, or no rank has room for a table, the table is cut in the
// way that helps most.
func (p *placer) place() (*plan, error) {
	if err := p.chooseTiers(); err != nil {
		return nil, err
	}
	choices := make([]int, len(p.tables))
	for i := range p.tables {
		t := &p.tables[i]
		if t.options = p.layouts(t); len(t.options) == 0 {
			return nil, fmt.Errorf("graph: table %s: layout %q; want %s, %s, %s, %s or %s", t.Name,
				t.rule.Layout,
				TableWise, ColumnWise, RowWise, ServerRowWise, DataParallel)
		}
	}
	// Begin with replicas of what costs less so, and with whole tables.
	for i := range p.tables {
		o := p.tables[i].options
		if len(o) > 1 && o[0].layout == DataParallel && o[0].seconds*float64(p.net.ranks) >
			o[1].seconds*float64(o[1].ranks*o[1].parts) {
			choices[i] = 1
		}
	}
	best, cut := p.assign(choices)
	for best == nil { // the table has no room
		if choices[cut]+1 == len(p.tables[cut].options) {
			return nil, p.noRoom(&p.tables[cut], &p.tables[cut].options[choices[cut]])
		}
		choices[cut]++
		best, cut = p.assign(choices)
	}
	for {
		better, heaviest := -1, 0
		for option := range p.tables[cut].options {
			trying := slices.Clone(choices)
			trying[cut] = option
			if trial, next := p.assign(trying); trial != nil && trial.score < best.score*(1-gainMin) {
				best, better, heaviest = trial, option, next
			}
		}
		if better < 0 {
			return best, nil
		}
		choices[cut], cut = better, heaviest
	}
}

// gainMin is the part of the score that cutting a table must save.
const gainMin = 0.005

// assign places the tables as chosen. It returns no plan if the table that it names has no room, and
// otherwise the plan and the most expensive table of the most loaded rank that is not on all ranks.
func (p *placer) assign(choices []int) (*plan, int) {
	var base load // of all ranks
	var baseBytes [tiers]float64
	out := &plan{}
	whole, seconds, used := 0, 0.0, 0
	seen := map[Layout]bool{}
	for i := range p.tables {
		o := &p.tables[i].options[choices[i]]
		seen[o.layout] = true
		for part := range o.parts {
			out.pieces = append(out.pieces, piece{i, part, 0, o})
		}
		if o.ranks < p.net.ranks {
			used += o.ranks * o.parts
			continue
		}
		base.add(&o.load)
		seconds += o.seconds
		for tier := range tiers {
			if baseBytes[tier] += o.bytes[tier]; baseBytes[tier] > p.room[tier] {
				return nil, i
			}
		}
	}
	out.layouts = len(seen)
	slices.SortStableFunc(out.pieces, func(a, b piece) int {
		return cmp.Or(cmp.Compare(b.ranks, a.ranks), cmp.Compare(b.seconds, a.seconds))
	})
	for whole < len(out.pieces) && out.pieces[whole].ranks == p.net.ranks { // those have their places
		whole++
	}
	// Ranks without a piece are all alike: a server more than could be used stands for them.
	ranks := min(p.net.ranks, used+p.net.perServer)
	loads := make([]rankLoad, ranks)
	for i := range out.pieces[whole:] {
		x := &out.pieces[whole+i]
		if x.rank = leastLoaded(loads, x.option, &baseBytes, &p.room); x.rank < 0 {
			return nil, x.table
		}
		for r := x.rank; r < x.rank+x.ranks; r++ {
			loads[r].take(x.option)
		}
		out.mean += x.seconds * float64(x.ranks) / float64(p.net.ranks)
	}
	hottest := 0
	for r := range loads {
		out.most.most(&loads[r].load)
		if loads[r].seconds > loads[hottest].seconds {
			hottest = r
		}
		for tier := range tiers {
			out.bytes[tier] = max(out.bytes[tier], baseBytes[tier]+loads[r].bytes[tier])
		}
	}
	out.most.add(&base)
	out.peak, out.mean = seconds+loads[hottest].seconds, seconds+out.mean
	out.score = math.Pow(seconds, peakPower) * float64(p.net.ranks-ranks)
	for r := range loads {
		out.score += math.Pow(seconds+loads[r].seconds, peakPower)
	}
	return out, loads[hottest].heaviest(out.pieces, hottest)
}

// peakPower makes the sum of powers of the ranks' times a measure of the largest, which also falls if one of
// several equal ones does.
const peakPower = 8

// rankLoad is what a rank has, apart from what all ranks have.
type rankLoad struct {
	load
	seconds float64
	bytes   [tiers]float64
}

// leastLoaded returns the first of the ranks, neighbours in one server, that have the least work and room for
// a part of a table, or −1.
func leastLoaded(loads []rankLoad, o *option, base, room *[tiers]float64) (at int) {
	at = -1
	for r := 0; r+o.ranks <= len(loads); r += o.ranks {
		if loads[r].fits(o, base, room) && (at < 0 || loads[r].seconds < loads[at].seconds) {
			at = r
		}
	}
	return at
}

func (l *rankLoad) fits(o *option, base, room *[tiers]float64) bool {
	for tier := range tiers {
		if base[tier]+l.bytes[tier]+o.bytes[tier] > room[tier] {
			return false
		}
	}
	return true
}

func (l *rankLoad) take(o *option) {
	l.add(&o.load)
	l.seconds += o.seconds
	for tier := range tiers {
		l.bytes[tier] += o.bytes[tier]
	}
}

// heaviest returns the table of the piece that costs a rank the most.
func (l *rankLoad) heaviest(pieces []piece, rank int) (table int) {
	most := -1.0
	for _, x := range pieces {
		if x.rank <= rank && rank < x.rank+x.ranks && x.layout != DataParallel && x.seconds > most {
			table, most = x.table, x.seconds
		}
	}
	return table
}

// noRoom explains why a part of a table fits on no rank.
func (p *placer) noRoom(t *placed, o *option) error {
	return fmt.Errorf("graph: table %s by %s: %v rows of %v take %v of accelerator's memory, %v of host's "+
		"and %v "+
		"of SSDs on each of %d ranks; after the other tables that must be there, ranks have at most %v, %v "+
		"and "+
		"%v for tables: %w; use more GPUs, narrower rows, or another layout",
		t.Name, o.layout, o.rows, unit.Bytes(t.row), unit.Bytes(o.bytes[0]), unit.Bytes(o.bytes[1]),
		unit.Bytes(o.bytes[2]), o.ranks*o.parts, unit.Bytes(p.room[0]), unit.Bytes(p.room[1]),
		unit.Bytes(p.room[2]), ErrMemory)
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
