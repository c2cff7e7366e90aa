package graph

import (
	"cmp"
	"slices"

	"gonum.org/v1/gonum/stat/combin"
)

// placementsMost is the number of placements up to which all are tried.
const placementsMost = 1 << 14

// all returns the placements of the tables that no other is better than in all kinds of work, or nil if there
// are more than placementsMost placements. A part is on any rank, or on any server, of those that its rule
// allows. The parts of a table are alike, so each is on the rank of the one before or a later one.
func (p *placer) all() []*plan {
	count := 1.0
	for i := range p.tables {
		ways := 0.0
		for j := range p.tables[i].options {
			ways += p.tables[i].ways(&p.tables[i].options[j], p.net.ranks)
		}
		if count *= ways; count > placementsMost {
			return nil
		}
	}
	s := &small{placer: p, ranks: make([]smallRank, p.net.ranks)}
	for i := range p.tables {
		s.order = append(s.order, i)
	}
	// Ranks that are named are no longer like others, which placePart has to see.
	slices.SortStableFunc(s.order, func(x, y int) int {
		return cmp.Compare(len(p.tables[y].rule.Ranks), len(p.tables[x].rule.Ranks))
	})
	s.place(0)
	// Of steps that take the same time, the first is chosen.
	slices.SortStableFunc(s.plans, func(x, y *plan) int { return cmp.Compare(x.peak, y.peak) })
	return s.plans
}

// ways returns in how many places the parts of a table can be.
func (t *placed) ways(o *option, ranks int) float64 {
	if len(t.rule.Ranks) > 0 {
		return 1
	}
	return combin.GeneralizedBinomial(float64(ranks/o.ranks+o.parts-1), float64(o.parts))
}

// small tries all placements of a few tables.
type small struct {
	*placer
	order  []int // of the tables
	ranks  []smallRank
	pieces []piece
	plans  []*plan
}

// smallRank is what a rank has in a placement of a few tables.
type smallRank struct {
	rankLoad           // bytes alone
	parts    []*option // in the order of placement
}

// place tries all placements of the tables behind some.
func (s *small) place(tables int) {
	if tables == len(s.order) {
		s.keep()
		return
	}
	table := s.order[tables]
	for j := range s.tables[table].options {
		s.placePart(piece{table: table, option: &s.tables[table].options[j]}, 0, tables+1)
	}
}

// placePart tries all places of a part of a table from a rank on, and of what follows it. Of places that are
// alike it tries the first.
func (s *small) placePart(x piece, from, tables int) {
	if x.part == x.parts {
		s.place(tables)
		return
	}
	named := s.tables[x.table].rule.Ranks
	if len(named) > 0 {
		from = 0
	}
	for x.rank = from; x.rank+x.ranks <= len(s.ranks); x.rank += x.ranks {
		if len(named) > 0 && named[x.part] != x.rank || !s.fits(&x) || len(named) == 0 && s.known(&x) {
			continue
		}
		own := s.ranks[x.rank : x.rank+x.ranks]
		before := slices.Clone(own)
		for r := range own {
			for tier := range tiers {
				own[r].bytes[tier] += x.bytes[tier]
			}
			own[r].parts = append(own[r].parts, x.option)
		}
		s.pieces = append(s.pieces, x)
		next := x
		next.part++
		s.placePart(next, x.rank, tables)
		s.pieces = s.pieces[:len(s.pieces)-1]
		copy(own, before)
	}
}

// known reports whether an earlier place is like that of a part. Ranks of a server that have the same parts
// are alike, and so are servers whose ranks have.
func (s *small) known(x *piece) bool {
	per := s.net.perServer
	own := x.rank / per * per // the first rank of its server
	same := func(a, b smallRank) bool { return slices.Equal(a.parts, b.parts) }
	for server := 0; server < own; server += per {
		if slices.EqualFunc(s.ranks[server:server+per], s.ranks[own:min(own+per, len(s.ranks))], same) {
			return true
		}
	}
	return slices.ContainsFunc(s.ranks[own:x.rank], func(r smallRank) bool {
		return same(r, s.ranks[x.rank])
	})
}

// fits reports whether all ranks of a part have room for it.
func (s *small) fits(x *piece) bool {
	for r := x.rank; r < x.rank+x.ranks; r++ {
		if !s.ranks[r].fits(x.option, &rankLoad{}, &s.room) {
			return false
		}
	}
	return true
}

// keep adds the placement, unless one that is known is at least as good, and drops those that it is better
// than.
func (s *small) keep() {
	x := s.plan(s.pieces)
	if slices.ContainsFunc(s.plans, func(y *plan) bool { return s.atLeastAsGood(y, x) }) {
		return
	}
	s.plans = slices.DeleteFunc(s.plans, func(y *plan) bool { return s.atLeastAsGood(x, y) })
	s.plans = append(s.plans, x)
}

// atLeastAsGood reports whether a placement has at most the work of another of each kind, on the ranks with
// the most.
func (s *small) atLeastAsGood(x, y *plan) bool {
	a, b := &x.most, &y.most
	return a.lookup <= b.lookup && a.sort <= b.sort && a.update <= b.update && a.dense <= b.dense &&
		a.ids <= b.ids && a.exchange <= b.exchange && a.scatter <= b.scatter && a.inside <= b.inside &&
		a.reduce <= b.reduce && a.fetched <= b.fetched && a.read <= b.read && a.reads <= b.reads &&
		x.layouts() <= y.layouts() && x.tables(s.net.ranks) <= y.tables(s.net.ranks)
}
