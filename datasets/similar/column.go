package similar

import (
	"math"
	"slices"

	"tandem/algo/job"
	"tandem/datasets/census"
	"tandem/datasets/synth"
)

const (
	// wellSeen is the number of occurrences from which an id has a coverage point of its own or shares
	// one with ids that are as well seen. Its share then has a standard error of at most 45 %.
	wellSeen = 5
	// wellSeenFlat is the same where the number of ids is known: then the rare ids are about equally
	// frequent, and the noise of small counts would spread them.
	wellSeenFlat = 20
	// exactIDs is the largest number of ids that each get a coverage point.
	exactIDs = 20
)

// Column returns the column whose draws resemble the ids of a real column. Occurrences holds the number of
// occurrences of each id, in any order; there must be at least one, and all must be positive. The caller
// sets the name of the column.
//
// Ids that occur at least 5 times give the coverage of the first ranks (20 times where census.Estimate knows
// the number of ids). The other ids follow a power law
// from there to the cardinality. Its exponent is the one with which as many draws are expected to show as
// many different ids, and the cardinality is the one with which they are expected to show as many that occur
// once. If census.Estimate knows the number of ids, that is the cardinality.
//
// If it does not, many cardinalities give draws like the real ones. The cardinality is then a guess that is
// not below the lower bound of the estimate.
func Column(occurrences []int64) job.SyntheticColumn {
	if len(occurrences) == 0 {
		panic("similar: Column: no ids")
	}
	occurrences = slices.Clone(occurrences)
	slices.SortFunc(occurrences, func(a, b int64) int { return int(b - a) })
	c := census.New(occurrences)
	f := &tailFit{draws: float64(c.Draws()), distinct: float64(c.Distinct()), once: float64(c.Occurring(1))}
	estimate := c.Estimate()
	if estimate.AtLeast {
		f.seeHead(occurrences, wellSeen)
	} else {
		f.seeHead(occurrences, wellSeenFlat)
	}
	least := max(int64(estimate.Low), c.Distinct(), int64(f.head)+1)
	if f.head == len(occurrences) {
		least-- // the head can be everything
	}
	if !estimate.AtLeast {
		n := max(least, int64(math.Round(estimate.IDs)))
		return f.column(n, f.exponent(n))
	}
	// The number of ids that occur once grows with the cardinality: double it, then bisect, to the
	// smallest cardinality that expects as many up to their standard deviation.
	target := f.once - math.Sqrt(f.once)
	expected := func(n int64) float64 {
		_, once := f.expected(n, f.exponent(n))
		return once
	}
	lo, hi := least, least
	for hi < cardinalityGuessMax && expected(hi) < target {
		lo, hi = hi, min(2*hi, cardinalityGuessMax)
	}
	for hi > lo+max(1, lo/50) {
		if n := lo + (hi-lo)/2; expected(n) < target {
			lo = n
		} else {
			hi = n
		}
	}
	return f.column(hi, f.exponent(hi))
}

// cardinalityGuessMax bounds a guessed cardinality: no known table of ids is larger.
const cardinalityGuessMax = int64(1e10)

// tailFit fits the ids that are not well seen.
type tailFit struct {
	draws, distinct, once float64 // of the sample
	head                  int     // ranks that are well seen
	points                []job.CoveragePoint
}

// seeHead sets the head, the ids with at least as many occurrences, and its coverage points, at ranks 1, 2,
// 3, 5, 10, 20, 30, 50, 100 and so on.
func (f *tailFit) seeHead(descending []int64, least int64) {
	for f.head < len(descending) && descending[f.head] >= least {
		f.head++
	}
	sum, next := int64(0), nextRank(0)
	for i, count := range descending[:f.head] {
		sum += count
		if rank := int64(i + 1); rank == next || rank == int64(f.head) || f.head <= exactIDs {
			f.points = append(f.points, job.CoveragePoint{Top: rank, Share: float64(sum) / f.draws})
		}
		if int64(i+1) == next {
			next = nextRank(next)
		}
	}
}

// nextRank returns the first of 1, 2, 3, 5, 10, 20, … that is above rank.
func nextRank(rank int64) int64 {
	for unit := int64(1); ; unit *= 10 {
		for _, digit := range []int64{1, 2, 3, 5} {
			if digit*unit > rank {
				return digit * unit
			}
		}
	}
}

// column returns the column with a cardinality whose tail has an exponent.
func (f *tailFit) column(cardinality int64, exponent float64) job.SyntheticColumn {
	column := job.SyntheticColumn{Cardinality: cardinality, Coverage: slices.Clone(f.points)}
	covered := 0.0
	if f.head > 0 {
		covered = f.points[len(f.points)-1].Share
	}
	if covered == 1 || int64(f.head) >= cardinality {
		// The last point is implied. A column without other points is uniform.
		column.Coverage = column.Coverage[:max(len(column.Coverage)-1, 0)]
	}
	const negligible = 0.1 // of a draw
	first := float64(f.head) + 0.5
	whole := powerIntegral(first, float64(cardinality)+0.5, exponent)
	for rank := nextRank(int64(f.head)); covered < 1 && rank < cardinality; rank = nextRank(rank) {
		share := covered + (1-covered)*powerIntegral(first, float64(rank)+0.5, exponent)/whole
		if (1-share)*f.draws < negligible {
			break
		}
		column.Coverage = append(column.Coverage, job.CoveragePoint{Top: rank, Share: share})
	}
	for i := range column.Coverage {
		column.Coverage[i].Share = math.Round(column.Coverage[i].Share*1e12) / 1e12
	}
	return column
}

// powerIntegral returns the integral of x^−s from a to b.
func powerIntegral(a, b, s float64) float64 {
	logs, t := math.Log(b/a), (1-s)*math.Log(b/a)
	if math.Abs(t) < 1e-8 {
		return logs * math.Pow(a, 1-s)
	}
	return logs * math.Pow(a, 1-s) * math.Expm1(t) / t
}

// exponent returns the exponent of the tail with which the expected number of different ids is that of the
// sample, or comes closest.
func (f *tailFit) exponent(cardinality int64) float64 {
	lo, hi := 0.0, f.steepest(cardinality)
	for hi-lo > 1e-4 {
		s := (lo + hi) / 2
		if distinct, _ := f.expected(cardinality, s); distinct > f.distinct {
			lo = s
		} else {
			hi = s
		}
	}
	return lo
}

// steepest returns the largest exponent with which the first rank of the tail has no larger share than the
// last rank of the head.
func (f *tailFit) steepest(cardinality int64) float64 {
	const exponentMax = 3
	if f.head == 0 || int64(f.head) >= cardinality {
		return exponentMax
	}
	last := f.points[len(f.points)-1]
	before := job.CoveragePoint{}
	if len(f.points) > 1 {
		before = f.points[len(f.points)-2]
	}
	most := (last.Share - before.Share) / float64(last.Top-before.Top)
	first := float64(f.head) + 0.5
	lo, hi := 0.0, float64(exponentMax)
	for hi-lo > 1e-4 {
		s := (lo + hi) / 2
		share := (1 - last.Share) * math.Pow(first+0.5, -s) / powerIntegral(first, float64(cardinality)+0.5,
			s)
		if share > most {
			hi = s
		} else {
			lo = s
		}
	}
	return lo
}

// expected returns the expected number of different ids of the draws, and of those that occur once: draws
// times the derivative of the first by the number of draws.
func (f *tailFit) expected(cardinality int64, exponent float64) (distinct, once float64) {
	d := synth.NewDistribution(f.column(cardinality, exponent))
	const step = 0.05
	more, fewer := d.ExpectedDistinct(f.draws*(1+step)), d.ExpectedDistinct(f.draws*(1-step))
	return d.ExpectedDistinct(f.draws), (more - fewer) / (2 * step)
}
