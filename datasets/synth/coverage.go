package synth

import (
	"math"
	"math/rand/v2"
	"sort"

	"tandem/algo/job"
)

// Distribution is the distribution of the ranks of one column, 1 for the most frequent id.
type Distribution interface {
	// Rank draws a rank.
	Rank(random *rand.Rand) int64
	// Probability returns the probability of a rank, 0 outside of 1 to the cardinality.
	Probability(rank int64) float64
	// Share returns the probability that a draw is among the most frequent ranks ids.
	Share(ranks int64) float64
	// ExpectedDistinct returns the expected number of distinct ids in a number of independent
	// draws, which can be fractional, but not negative.
	ExpectedDistinct(draws float64) float64
}

// NewDistribution returns the distribution of a column: Coverage if the column has points, else
// Zipf. It panics if the column is invalid.
func NewDistribution(c job.SyntheticColumn) Distribution {
	if len(c.Coverage) > 0 {
		return NewCoverage(c)
	}
	return NewZipf(c)
}

// Coverage is the distribution of ranks of which some cumulative shares are known. The points
// (r_j, F_j) of job.SyntheticColumn.Coverage, and (n, 1) for the cardinality n, cut the ranks
// into pieces. In a piece the ids follow a power law,
//
//	F(r) = F_{j−1} + (F_j − F_{j−1}) · ∫_{r_{j−1}+½}^{r+½} x^{−s_j} dx / ∫_{r_{j−1}+½}^{r_j+½} x^{−s_j} dx
//
// whose exponent s_j is the slope of the mean shares of the neighbouring pieces in logarithms of
// rank and share, made flatter where a share would otherwise grow from one piece to the next. So
// p(r) = F(r) − F(r−1) does not grow with r, and F passes through all points.
//
// If the share t of the most frequent id is set,
//
//	p(i) = t                                  for i ≤ m
//	p(i) = (1 − m·t) · p'(i) / (1 − F'(m))    for i > m
//
// where p' and F' are the distribution without it and m ≥ 1 is the smallest that keeps p(m+1) ≤ t.
//
// A Coverage is immutable. Besides its pieces, it keeps the shares of its most frequent ids.
type Coverage struct {
	pieces []piece
	ranks  int64   // n
	top    float64 // t, or 0
	flat   int64   // m, or 0 if t is 0
	within float64 // F'(m)
	head   head    // of the most frequent ids
}

// piece is a power law of the ranks from first to last.
type piece struct {
	first, last int64
	// Shares of all ranks before first, and of those up to last.
	before, upTo float64
	exponent     float64 // s
	logStart     float64 // log(first − ½)
	integral     float64 // of (x/(first−½))^−s dx/(first−½) from first−½ to last+½
}

// NewCoverage returns the distribution of a column with coverage points. It panics if the column
// is invalid or has none.
func NewCoverage(c job.SyntheticColumn) *Coverage {
	if err := c.Validate(); err != nil {
		panic("synth: NewCoverage: " + err.Error())
	}
	if len(c.Coverage) == 0 {
		panic("synth: NewCoverage: no points")
	}
	d := &Coverage{ranks: c.Cardinality}
	before := job.CoveragePoint{}
	for _, point := range append(c.Coverage[:len(c.Coverage):len(c.Coverage)],
		job.CoveragePoint{Top: c.Cardinality, Share: 1}) {
		d.pieces = append(d.pieces, piece{first: before.Top + 1, last: point.Top, before: before.Share,
			upTo: point.Share, logStart: math.Log(float64(before.Top) + 0.5)})
		before = point
	}
	d.slope()
	if c.Top > 0 {
		d.setTop(c.Top)
	}
	d.head = newHead(d)
	return d
}

// slope sets the exponents of the pieces.
func (d *Coverage) slope() {
	for i := range d.pieces {
		a, b := &d.pieces[max(i-1, 0)], &d.pieces[min(i+1, len(d.pieces)-1)]
		if a.mean() > 0 && b.mean() > 0 && a.middle() < b.middle() {
			d.pieces[i].exponent = max(0, math.Log(a.mean()/b.mean())/math.Log(b.middle()/a.middle()))
		}
		d.pieces[i].exponent = min(d.pieces[i].exponent, job.ExponentMax)
	}
	for i := 1; i < len(d.pieces); i++ {
		a, b := &d.pieces[i-1], &d.pieces[i]
		falls := func(flatter float64) bool {
			return a.probability(a.last, flatter*a.exponent) >= b.probability(b.first, flatter*b.exponent)
		}
		if falls(1) {
			continue
		}
		lo, hi := 0.0, 1.0 // with 0, both pieces are flat, and the mean shares fall
		for hi-lo > 1e-6 {
			if middle := (lo + hi) / 2; falls(middle) {
				lo = middle
			} else {
				hi = middle
			}
		}
		a.exponent, b.exponent = lo*a.exponent, lo*b.exponent
	}
	for i := range d.pieces {
		d.pieces[i].integral = d.pieces[i].integralTo(float64(d.pieces[i].last)+0.5, d.pieces[i].exponent)
	}
}

// mean returns the mean share of an id.
func (p *piece) mean() float64 { return (p.upTo - p.before) / float64(p.last-p.first+1) }

// middle returns the geometric middle of the ranks.
func (p *piece) middle() float64 {
	return math.Sqrt((float64(p.first) - 0.5) * (float64(p.last) + 0.5))
}

// integralTo returns the integral of (x/a)^−s dx/a from a = first−½ to x:
// ((x/a)^(1−s) − 1) / (1−s), or log(x/a) for s = 1.
func (p *piece) integralTo(x, s float64) float64 {
	logX := math.Log(x) - p.logStart
	t := (1 - s) * logX
	if math.Abs(t) < 1e-8 {
		return logX * (1 + t/2) // expm1(t)/t to first order; the rest is below 10⁻¹⁶
	}
	return logX * math.Expm1(t) / t
}

// probability returns the share of a rank for an exponent.
func (p *piece) probability(rank int64, s float64) float64 {
	x := float64(rank)
	return (p.upTo - p.before) * (p.integralTo(x+0.5, s) - p.integralTo(x-0.5, s)) /
		p.integralTo(float64(p.last)+0.5, s)
}

// share returns the share of all ranks up to a rank of the piece.
func (p *piece) share(rank int64) float64 {
	if rank >= p.last {
		return p.upTo
	}
	if rank < p.first {
		return p.before
	}
	part := p.integralTo(float64(rank)+0.5, p.exponent) / p.integral
	return p.before + float64((p.upTo-p.before)*part)
}

// quantile returns the first rank whose share is above u, for u of the piece.
func (p *piece) quantile(u float64) int64 {
	if p.first == p.last {
		return p.first
	}
	v := (u - p.before) / (p.upTo - p.before) * p.integral
	t := v * (1 - p.exponent)
	var logX float64
	if math.Abs(t) < 1e-8 {
		logX = v * (1 - t/2)
	} else {
		logX = v * math.Log1p(max(t, -1)) / t // rounding can push t below its limit of −1
	}
	x := math.Exp(logX + p.logStart)
	if x >= float64(p.last) {
		return p.last
	}
	return max(p.first, int64(x+0.5))
}

// setTop sets the share of the most frequent id.
func (d *Coverage) setTop(top float64) {
	// If p(m+1) ≤ t holds for m, it holds for m+1: bisect.
	lo, hi := int64(1), d.ranks-1
	for lo < hi {
		m := lo + (hi-lo)/2
		left := 1 - float64(float64(m)*top)
		if rest := 1 - d.base(m); left <= 0 || left*(d.base(m+1)-d.base(m)) <= top*rest {
			hi = m
		} else {
			lo = m + 1
		}
	}
	if 1-d.base(lo) < lostShare {
		all := piece{first: 1, last: d.ranks, upTo: 1, logStart: math.Log(0.5)}
		all.integral = all.integralTo(float64(d.ranks)+0.5, 0)
		d.pieces = []piece{all}
	}
	d.top, d.flat, d.within = top, lo, d.base(lo)
}

// lostShare is a share behind the flat head of which a float64 near 1 has too few digits to tell ids apart.
// They are then drawn alike.
const lostShare = 1e-13

// base returns F'(rank), the share without a share of the most frequent id.
func (d *Coverage) base(rank int64) float64 { return d.pieces[d.find(rank)].share(rank) }

// find returns the index of the piece of a rank.
func (d *Coverage) find(rank int64) int {
	return sort.Search(len(d.pieces)-1, func(i int) bool { return d.pieces[i].last >= rank })
}

// Share returns the probability that a draw is among the most frequent ranks ids.
func (d *Coverage) Share(ranks int64) float64 {
	if ranks >= 0 && ranks < int64(len(d.head.shares)) {
		return d.head.shares[ranks]
	}
	return d.share(ranks)
}

// share is Share without the head.
func (d *Coverage) share(ranks int64) float64 {
	switch {
	case ranks <= 0:
		return 0
	case ranks >= d.ranks:
		return 1
	case ranks <= d.flat:
		return float64(ranks) * d.top
	}
	return d.scaled(d.base(ranks))
}

// scaled returns the F of an F' above the flat head.
func (d *Coverage) scaled(base float64) float64 {
	if d.flat == 0 {
		return base
	}
	head := float64(d.flat) * d.top
	return head + float64((1-head)*(base-d.within)/(1-d.within))
}

// Probability returns p(rank), 0 outside 1..n.
func (d *Coverage) Probability(rank int64) float64 {
	if rank < 1 || rank > d.ranks {
		return 0
	}
	if d.flat > 0 {
		return d.Share(rank) - d.Share(rank-1)
	}
	p := &d.pieces[d.find(rank)]
	return p.share(rank) - p.share(rank-1)
}

// Quantile returns the smallest rank whose share is above u, for u in [0, 1). With uniform u, it
// is a draw. Cost: about 10 ns for an id of the head; else a binary search among the pieces and two
// transcendental functions.
func (d *Coverage) Quantile(u float64) int64 {
	if rank := d.head.quantile(u); rank > 0 {
		return rank
	}
	return d.quantile(u)
}

// quantile is Quantile without the head.
func (d *Coverage) quantile(u float64) int64 {
	if d.flat > 0 {
		head := float64(d.flat) * d.top
		if u < head {
			return min(1+int64(u/d.top), d.flat)
		}
		u = d.within + (u-head)/(1-head)*(1-d.within)
	}
	last := len(d.pieces) - 1
	i := sort.Search(last, func(i int) bool { return d.pieces[i].upTo > u })
	return max(d.pieces[i].quantile(u), d.flat+1)
}

// Rank draws a rank.
func (d *Coverage) Rank(random *rand.Rand) int64 { return d.Quantile(random.Float64()) }

// ExpectedDistinct returns the expected number of distinct ids in a number of independent draws.
func (d *Coverage) ExpectedDistinct(draws float64) float64 {
	seen := func(p float64) float64 {
		if p >= 1 {
			return min(draws, 1)
		}
		return -math.Expm1(draws * math.Log1p(-p))
	}
	sum := float64(d.flat) * seen(d.top)
	scale := d.scaled(1) - d.scaled(0)
	for i := range d.pieces {
		p := &d.pieces[i]
		factor := scale * (p.upTo - p.before) / ((float64(p.first) - 0.5) * p.integral)
		density := func(x float64) float64 {
			return factor * math.Exp(-p.exponent*math.Log(x/(float64(p.first)-0.5)))
		}
		// Near its first ranks, a piece of the first few ids is not smooth enough.
		exact := min(p.last, 1024)
		for rank := max(p.first, d.flat+1); rank <= exact; rank++ {
			sum += seen(d.Probability(rank))
		}
		sum += sumRanks(max(p.first, exact+1, d.flat+1), p.last+1,
			func(x float64) float64 { return seen(density(x)) })
	}
	return sum
}
