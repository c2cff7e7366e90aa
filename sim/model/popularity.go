package model

import (
	"errors"
	"fmt"
	"math"
)

// Popularity is the distribution of the ids of a table over its rows. The zero Popularity is Zipf's with the
// model's exponent.
type Popularity struct {
	// Exponent is the s of p(rank) ∝ rank^−s; absent, the model's.
	Exponent *float64 `yaml:"exponent"`
	// Top is the share of the most frequent id. If it is set, the ranks 1 to m have this share each, with the
	// smallest m ≥ 1 for which the tail p(rank) ∝ rank^−s begins at or below it. 0 means that of Zipf.
	Top float64 `yaml:"top"`
	// Pieces, if there are any, replace Exponent and Top: the most popular rows first, and all ids are
	// equally frequent within a piece.
	Pieces []Piece `yaml:"pieces"`
}

// Piece is a part of the rows of a table, and the part of all ids that name one of them.
type Piece struct {
	Rows float64 `yaml:"rows"`
	IDs  float64 `yaml:"ids"`
}

// Validate reports the first number that is out of range.
func (p *Popularity) Validate() error {
	switch {
	case p.Exponent != nil && !(*p.Exponent >= 0 && *p.Exponent <= exponentMax):
		return fmt.Errorf("exponent = %v; want 0 to %v", *p.Exponent, exponentMax)
	case !(p.Top >= 0 && p.Top < 1):
		return fmt.Errorf("top = %v; want a share from 0 to below 1", p.Top)
	case len(p.Pieces) > 0 && (p.Exponent != nil || p.Top != 0):
		return errors.New("pieces and an exponent or top; give one of them")
	case len(p.Pieces) == 0:
		return nil
	}
	rows, ids, frequency := 0.0, 0.0, math.Inf(1)
	for i, piece := range p.Pieces {
		if !(piece.Rows > 0 && piece.IDs > 0) {
			return fmt.Errorf("pieces[%d]: rows, ids = %v, %v; want more than 0", i, piece.Rows, piece.IDs)
		}
		if f := piece.IDs / piece.Rows; f > frequency {
			return fmt.Errorf("pieces[%d] is more popular than the piece before; sort them", i)
		} else {
			frequency = f
		}
		rows, ids = rows+piece.Rows, ids+piece.IDs
	}
	if math.Abs(rows-1) > sharesSlack || math.Abs(ids-1) > sharesSlack {
		return fmt.Errorf("pieces: rows, ids add up to %v, %v; want 1, 1", rows, ids)
	}
	return nil
}

const (
	exponentMax = 10.0
	sharesSlack = 1e-6 // of shares that are written in decimal
)

// PopularityOf returns the popularity of some rows of which a share of all ids is known: that of the most
// frequent ones, by their number. It is exact for the first rows, and has pieces that are an eighth longer
// than those before for the others.
func PopularityOf(rows float64, share func(rows float64) float64) (p Popularity) {
	before := 0.0
	for lo := 0.0; lo < rows; {
		hi := min(rows, lo+max(1, math.Floor(lo/8)))
		if hi > rows-1 {
			hi = rows
		}
		upTo := 1.0
		if hi < rows {
			upTo = min(1, share(hi))
		}
		piece := Piece{(hi - lo) / rows, upTo - before}
		// Rounding, and a tail that was not seen, may make a piece more popular than the one before, or give
		// it nothing. Then the two are one.
		for n := len(p.Pieces); n > 0; n-- {
			last := p.Pieces[n-1]
			if piece.IDs > 0 && piece.IDs/piece.Rows <= last.IDs/last.Rows {
				break
			}
			piece.Rows, piece.IDs = piece.Rows+last.Rows, piece.IDs+last.IDs
			p.Pieces = p.Pieces[:n-1]
		}
		p.Pieces = append(p.Pieces, piece)
		before, lo = upTo, hi
	}
	return p
}

// Frequencies is a resolved Popularity: how frequent each row of a table is, by its rank. The zero value is
// not valid.
type Frequencies struct{ parts []ranks }

// ranks are the rows with ranks in [lo, hi), counted from 1, each with probability scale · rank^−exponent.
type ranks struct{ lo, hi, scale, exponent float64 }

func (r *ranks) probability(rank float64) float64 {
	if r.exponent == 0 {
		return r.scale
	}
	return r.scale * math.Exp(-r.exponent*math.Log(rank))
}

// frequencies resolves the popularity for a table of rows.
func (p *Popularity) frequencies(rows, exponent float64) Frequencies {
	if rows <= 1 {
		return Frequencies{[]ranks{{1, 2, 1, 0}}}
	}
	if len(p.Pieces) > 0 {
		var parts []ranks
		lo := 1.0
		for _, piece := range p.Pieces {
			hi := lo + piece.Rows*rows
			parts = append(parts, ranks{lo, hi, piece.IDs / (hi - lo), 0})
			lo = hi
		}
		return Frequencies{parts}
	}
	if p.Exponent != nil {
		exponent = *p.Exponent
	}
	tail := func(lo float64) float64 { return sum(&ranks{lo, rows + 1, 1, exponent}, identity) }
	if p.Top == 0 {
		return Frequencies{[]ranks{{1, rows + 1, 1 / tail(1), exponent}}}
	}
	// Bisection: if the tail begins at or below top after m ranks, it does so after m+1.
	lo, hi := 1.0, math.Max(1, math.Min(rows-1, math.Floor(1/p.Top)))
	for lo < hi {
		m := math.Floor((lo + hi) / 2)
		if (1-m*p.Top)*math.Pow(m+1, -exponent) <= p.Top*tail(m+1) {
			hi = m
		} else {
			lo = m + 1
		}
	}
	left := math.Max(0, 1-lo*p.Top)
	return Frequencies{[]ranks{
		{1, lo + 1, p.Top, 0}, {lo + 1, rows + 1, left / tail(lo+1), exponent},
	}}
}

func identity(p float64) float64 { return p }

// sum returns Σ f(p(rank)) over ranks: the first exactly, the others as an integral over the logarithm of the
// rank, by Gauss and Legendre's rule with four points in each doubling of the rank.
func sum(r *ranks, f func(p float64) float64) (total float64) {
	if r.exponent == 0 {
		return (r.hi - r.lo) * f(r.scale)
	}
	rank := r.lo
	for ; rank < r.hi && rank < r.lo+ranksExact; rank++ {
		total += f(r.probability(rank))
	}
	for lo, end := rank-0.5, r.hi-0.5; lo < end; {
		hi := math.Min(2*lo, end)
		mid, half := (math.Log(hi)+math.Log(lo))/2, (math.Log(hi)-math.Log(lo))/2
		for i, node := range legendreNodes {
			x := math.Exp(mid + half*node)
			total += half * legendreWeights[i] * x * f(r.probability(x))
		}
		lo = hi
	}
	return total
}

// ranksExact is the number of ranks that are added one by one. The integral's error for the others is below
// s(s+1) / (24 · ranksExact²) of their sum.
const ranksExact = 32

// Nodes and weights of the Gauss–Legendre rule with four points on [−1, 1].
var (
	legendreNodes = [4]float64{
		-0.8611363115940526, -0.3399810435848563, 0.3399810435848563, 0.8611363115940526,
	}
	legendreWeights = [4]float64{
		0.3478548451374538, 0.6521451548625461, 0.6521451548625461, 0.3478548451374538,
	}
)

// Distinct returns the expected number of distinct rows in a number of independent draws:
//
//	Σ 1 − (1 − p(rank))^draws
func (f Frequencies) Distinct(draws float64) (rows float64) { return f.DistinctBeyond(draws, 0) }

// DistinctBeyond returns the expected number of distinct rows in a number of independent draws apart from
// the most frequent rows, such as those that a cache holds.
func (f Frequencies) DistinctBeyond(draws, frequent float64) (rows float64) {
	seen := func(p float64) float64 {
		if p >= 1 {
			return min(draws, 1)
		}
		return -math.Expm1(draws * math.Log1p(-p))
	}
	for _, part := range f.parts {
		part.lo = max(part.lo, 1+frequent)
		if part.lo < part.hi {
			rows += sum(&part, seen)
		}
	}
	return rows
}

// Share returns the probability that a draw is one of the most frequent rows: the hit rate of a cache that
// holds them.
func (f Frequencies) Share(rows float64) (share float64) {
	for _, part := range f.parts {
		part.hi = min(part.hi, 1+rows)
		if part.lo < part.hi {
			share += sum(&part, identity)
		}
	}
	return min(1, share)
}

// Probability returns the probability that a draw is the row of a rank, counted from 1.
func (f Frequencies) Probability(rank float64) float64 {
	for _, part := range f.parts {
		if rank < part.hi {
			return part.probability(rank)
		}
	}
	return 0
}

// Top returns the share of the most frequent row.
func (f Frequencies) Top() float64 { return f.parts[0].probability(1) }
