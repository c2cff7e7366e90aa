package census

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// Census is the frequency spectrum of the ids of a sample. It is immutable.
type Census struct {
	draws    int64
	distinct int64
	counts   []int64 // occurrences, ascending
	ids      []int64 // ids[i] ids occur counts[i] times
}

// New returns the census of a sample, given the number of occurrences of each id, in any order. All must
// be positive.
func New(occurrences []int64) *Census {
	byCount := map[int64]int64{}
	c := &Census{distinct: int64(len(occurrences))}
	for _, count := range occurrences {
		if count < 1 {
			panic(fmt.Sprintf("census: New: an id occurs %d times", count))
		}
		byCount[count]++
		c.draws += count
	}
	c.counts = slices.Sorted(maps.Keys(byCount))
	for _, count := range c.counts {
		c.ids = append(c.ids, byCount[count])
	}
	return c
}

// Draws returns the number n of occurrences of all ids.
func (c *Census) Draws() int64 { return c.draws }

// Distinct returns the number of ids in the sample.
func (c *Census) Distinct() int64 { return c.distinct }

// Occurring returns f_k, the number of ids that occur exactly k times.
func (c *Census) Occurring(k int64) int64 {
	if i, ok := slices.BinarySearch(c.counts, k); ok {
		return c.ids[i]
	}
	return 0
}

// Coverage returns 1 − f₁/n, which estimates the probability that the next draw is an id that the sample
// holds; 0 for an empty sample. Source: Good 1953, section 2, who credits Turing.
func (c *Census) Coverage() float64 {
	if c.draws == 0 {
		return 0
	}
	return 1 - float64(c.Occurring(1))/float64(c.draws)
}

// Estimate is what a sample says about the number of ids of its column.
type Estimate struct {
	// IDs is the estimated number of ids. With AtLeast, it only estimates a lower bound.
	IDs float64
	// Low and High are the ends of the 95 % confidence interval of the number of ids, whole
	// numbers. With AtLeast, the number is at least Low, and High is 0: the sample bounds it on
	// one side only.
	Low, High float64
	AtLeast   bool
}

// Of AtLeast:
const (
	// growthMax is the largest growth exponent of an estimate. An estimate that grows as
	// draws^(1/30) doubles after 2³⁰, a thousand million times as many draws. One that grows faster
	// says more about the size of the sample than about the column.
	growthMax = 1.0 / 30
	// growthSpan is the ratio of the two sample sizes between which the growth is measured.
	growthSpan = 10
	// drawsMin is the smallest sample of which a tenth can be compared with the whole.
	drawsMin = 100
)

// Estimate returns the number of ids that the column has.
//
// It is the estimate of Chao 1984 in its form without bias,
//
//	d + u,   u = f₁(f₁−1) / (2(f₂+1)),
//
// where d is the number of ids of the sample. The interval is that of Chao (Biometrics 43, 1987): the
// logarithm of the number of ids outside the sample is normal, with a variance from the delta method,
//
//	log(1 + 1/u + 4/f₁ + 1/(f₂+1)).
//
// Deviations: f₂+1 for f₂, so that f₂ = 0 is no special case; and High is at least the estimate plus its
// growth over the last tenfold increase of the sample, which matters where u is 0.
//
// The estimate assumes that the ids outside the sample are about as frequent as each other. If they are
// not, it is too low and grows with the sample. Estimate therefore compares it with the same formula for
// the expected spectrum of a tenth of the draws. AtLeast is set if it grows faster than draws^(1/30), or if
// there are fewer than 100 draws.
//
// No sample shows ids that are far rarer than one in n draws. The interval leaves them out: a column can
// have any number of ids that hold less than 3/n of the draws together.
//
// Cost: for each different number of occurrences, of which there are less than √(2 draws), three
// binomial coefficients.
func (c *Census) Estimate() Estimate {
	whole := spectrum{float64(c.distinct), float64(c.Occurring(1)), float64(c.Occurring(2))}
	e := Estimate{IDs: whole.chao(), Low: whole.distinct, High: whole.distinct}
	if unseen := whole.unseen(); unseen > 0 {
		factor := math.Exp(1.96 * math.Sqrt(math.Log1p(1/unseen+4/whole.once+1/(whole.twice+1))))
		e.Low = math.Floor(whole.distinct + unseen/factor)
		e.High = math.Ceil(whole.distinct + float64(unseen*factor))
	}
	if c.draws < drawsMin {
		return Estimate{IDs: e.IDs, Low: e.Low, AtLeast: true}
	}
	tenth := c.expected(c.draws / growthSpan)
	const negligible = 0.01 // of an id
	e.High = max(e.High, math.Ceil(e.IDs+whole.chao()-tenth.chao()-negligible))
	if math.Log(whole.chao()/tenth.chao()) > growthMax*math.Log(growthSpan) {
		return Estimate{IDs: e.IDs, Low: e.Low, AtLeast: true}
	}
	return e
}

// spectrum is the beginning of the frequency spectrum of a sample, or its expected value.
type spectrum struct {
	distinct, once, twice float64
}

// unseen returns the estimated number of ids outside the sample.
func (s spectrum) unseen() float64 { return s.once * max(s.once-1, 0) / (2 * (s.twice + 1)) }

// chao returns the estimated number of ids.
func (s spectrum) chao() float64 { return s.distinct + s.unseen() }

// expected returns the expected spectrum of a number of the draws, chosen without replacement. Of an id
// that occurs k times, the number that is chosen is hypergeometric.
func (c *Census) expected(draws int64) spectrum {
	var s spectrum
	all := logChoose(c.draws, draws)
	for i, count := range c.counts {
		ids := float64(c.ids[i])
		chosen := func(k int64) float64 {
			others := c.draws - count
			if k > count || draws-k > others || draws < k {
				return 0
			}
			return math.Exp(logChoose(count, k) + logChoose(others, draws-k) - all)
		}
		s.distinct += float64(ids * (1 - chosen(0)))
		s.once += float64(ids * chosen(1))
		s.twice += float64(ids * chosen(2))
	}
	return s
}

// logChoose returns the logarithm of the binomial coefficient of n and k.
func logChoose(n, k int64) float64 {
	whole, _ := math.Lgamma(float64(n) + 1)
	chosen, _ := math.Lgamma(float64(k) + 1)
	rest, _ := math.Lgamma(float64(n-k) + 1)
	return whole - chosen - rest
}
