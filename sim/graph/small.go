package graph

import (
	"cmp"
	"slices"

	"gonum.org/v1/gonum/stat/combin"
)

// placementsMost is the number of placements up to which all are tried.
const placementsMost = 1 << 14

// all returns every placement of the tables that no other is better than in all kinds of work, or nil if
// there are more than placementsMost. A part is on any rank, or on any server, of those that its rule allows.
// The parts of a table are alike, so each is on the rank of the one before or a later one.
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
	s := &small{placer: p, ranks: make([]rankLoad, p.net.ranks)}
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
	ranks  []rankLoad // bytes alone
	pieces []piece
	plans  []*plan
}

// place tries all placements of the tables from one on.
func (s *small) place(table int) {
	if table == len(s.tables) {
		s.keep()
		return
	}
	for j := range s.tables[table].options {
		s.placePart(piece{table: table, option: &s.tables[table].options[j]}, 0)
	}
}

// placePart tries all places of a part of a table from a rank on, and of what follows it.
func (s *small) placePart(x piece, from int) {
	if x.part == x.parts {
		s.place(x.table + 1)
		return
	}
	named := s.tables[x.table].rule.Ranks
	if len(named) > 0 {
		from = 0
	}
	for x.rank = from; x.rank < len(s.ranks); x.rank += x.ranks {
		if len(named) > 0 && named[x.part] != x.rank || !s.fits(&x) {
			continue
		}
		s.add(&x, 1)
		s.pieces = append(s.pieces, x)
		next := x
		next.part++
		s.placePart(next, x.rank)
		s.pieces = s.pieces[:len(s.pieces)-1]
		s.add(&x, -1)
	}
}

// add gives the ranks of a part its bytes, or with −1 takes them back.
func (s *small) add(x *piece, sign float64) {
	for r := x.rank; r < x.rank+x.ranks; r++ {
		for tier := range tiers {
			s.ranks[r].bytes[tier] += sign * x.bytes[tier]
		}
	}
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
	return x.layouts() <= y.layouts() && x.tables(s.net.ranks) <= y.tables(s.net.ranks) &&
		a.lookup <= b.lookup && a.sort <= b.sort && a.update <= b.update && a.dense <= b.dense &&
		a.ids <= b.ids && a.exchange <= b.exchange && a.scatter <= b.scatter && a.inside <= b.inside &&
		a.reduce <= b.reduce && a.fetched <= b.fetched && a.read <= b.read && a.reads <= b.reads
}
