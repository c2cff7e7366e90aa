package tune

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
)

// search is the tuning of one arm.
type search struct {
	arm     Arm
	plan    *Plan
	grid    []*Candidate // by row rate, then by dense rate
	nominal *Candidate
	vertex  *Candidate   // between candidates of the grid; nil: none
	in      []*Candidate // those that are still in
}

func newSearch(arm Arm, p *Plan) *search {
	s := &search{arm: arm, plan: p}
	for _, rows := range p.Rows {
		for _, dense := range p.Dense {
			s.grid = append(s.grid, &Candidate{Rates: Rates{rows, dense}})
		}
	}
	s.nominal = s.grid[0]
	for _, c := range s.grid {
		if distance(c.Rates, arm.Nominal) < distance(s.nominal.Rates, arm.Nominal) {
			s.nominal = c
		}
	}
	s.in = slices.Clone(s.grid)
	return s
}

// distance returns how far apart rates are, as a sum of logarithms.
func distance(a, b Rates) float64 {
	return math.Abs(math.Log(a.Rows/b.Rows)) + math.Abs(math.Log(a.Dense/b.Dense))
}

func (s *search) spec(c *Candidate, seed uint64) trial.Spec {
	j := s.arm.JobAt(c.Rates, seed)
	part := trial.Validation
	if j.Data.Kind == job.KindSynthetic {
		part = trial.Test // of this seed, which no comparison has
	}
	return trial.Spec{
		Job: j, Part: part, Simulated: s.arm.Simulated,
		Name: fmt.Sprintf("tuning %s, rates %.3g, %.3g, seed %d", s.arm.Name, c.Rows, c.Dense, seed),
	}
}

// best returns the candidates that are in, best first. It compares them under the seeds that all of them
// have.
func (s *search) best() []*Candidate {
	seeds := math.MaxInt
	for _, c := range s.in {
		seeds = min(seeds, len(c.AUC))
	}
	if seeds == 0 {
		return s.in
	}
	return slices.SortedStableFunc(slices.Values(s.in), func(a, b *Candidate) int {
		return cmp.Compare(mean(b.AUC[:seeds]), mean(a.AUC[:seeds]))
	})
}

// keep keeps n of the candidates that are in: the best, the nominal one, neighbours of the best, and the next
// best. None comes back, so that every search has the same number of trainings.
func (s *search) keep(n int) {
	ranked := s.best()
	rows, dense := s.beside(ranked[0], 0), s.beside(ranked[0], 1)
	var kept []*Candidate
	for _, c := range slices.Concat([]*Candidate{ranked[0], s.nominal}, rows[:], dense[:], ranked) {
		if len(kept) < n && slices.Contains(s.in, c) && !slices.Contains(kept, c) {
			kept = append(kept, c)
		}
	}
	s.in = kept
}

// beside returns the neighbours below and above a candidate of the grid in a rate (0: rows, 1: dense); nil
// where the grid ends.
func (s *search) beside(c *Candidate, rate int) (pair [2]*Candidate) {
	step, many := len(s.plan.Dense), len(s.plan.Rows)
	if rate == 1 {
		step, many = 1, len(s.plan.Dense)
	}
	at := slices.Index(s.grid, c)
	place := at / step % many
	if place > 0 {
		pair[0] = s.grid[at-step]
	}
	if place < many-1 {
		pair[1] = s.grid[at+step]
	}
	return pair
}

// addVertex adds the candidate at which the parabolas through the best one of the grid and its neighbours are
// highest.
func (s *search) addVertex() {
	top := s.best()[0]
	seeds := len(top.AUC)
	s.vertex = &Candidate{Rates: Rates{
		Rows:  top.Rows * math.Pow(ratio(s.plan.Rows), s.shift(top, 0, 0, seeds)),
		Dense: top.Dense * math.Pow(ratio(s.plan.Dense), s.shift(top, 1, 0, seeds)),
	}}
	s.in = append(s.in, s.vertex)
}

// shift returns how many steps of the grid from the best candidate the parabola through it and its neighbours
// in a rate (0: rows, 1: dense) is highest, at most half a step. It fits the means of the seeds from first to
// last. It returns 0 where the grid ends, a training diverged, or the parabola is not a hill.
func (s *search) shift(top *Candidate, rate, first, last int) float64 {
	var means [3]float64
	pair := s.beside(top, rate)
	for i, c := range []*Candidate{pair[0], top, pair[1]} {
		if c == nil || len(c.AUC) < last || slices.Contains(c.AUC[first:last], 0) {
			return 0
		}
		means[i] = mean(c.AUC[first:last])
	}
	bend := means[0] - 2*means[1] + means[2]
	if bend >= 0 {
		return 0
	}
	return min(max((means[0]-means[2])/(2*bend), -0.5), 0.5)
}

// ratio returns the ratio of neighbouring rates.
func ratio(rates []float64) float64 {
	if len(rates) == 1 {
		return 1
	}
	return rates[1] / rates[0]
}

// choice returns the outcome after the last rung, whose candidates have n results.
func (s *search) choice(n int) Choice {
	ranked := s.best()
	chosen := ranked[0]
	gains := report.Differences(chosen.AUC[:n], s.nominal.AUC)
	if mean(gains) <= 2*StandardError(gains) {
		chosen = s.nominal
	}
	c := Choice{Arm: s.arm.Name, Rates: chosen.Rates, AUC: metric.MeanInterval(chosen.AUC[:n])}
	if other := slices.IndexFunc(ranked,
		func(c *Candidate) bool { return c.Rates != chosen.Rates }); other >= 0 {
		c.StandardError = StandardError(report.Differences(chosen.AUC[:n], ranked[other].AUC))
	}
	top := ranked[slices.IndexFunc(ranked, func(c *Candidate) bool { return c != s.vertex })]
	for rate, candidates := range [][]float64{s.plan.Rows, s.plan.Dense} {
		pair := s.beside(top, rate)
		c.AtEdge = c.AtEdge || len(candidates) > 1 && (pair[0] == nil || pair[1] == nil)
	}
	for i := range n {
		best := top
		for _, other := range s.in {
			if other != s.vertex && other.AUC[i] > best.AUC[i] {
				best = other
			}
		}
		c.BestRows = append(c.BestRows, best.Rows*math.Pow(ratio(s.plan.Rows), s.shift(best, 0, i, i+1)))
	}
	for _, candidate := range append(slices.Clone(s.grid), s.vertex) {
		c.Candidates = append(c.Candidates, *candidate)
		c.Trials += len(candidate.AUC)
	}
	return c
}

// mean returns the mean of at least one value.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// StandardError returns the standard error of the mean of at least two values.
func StandardError(values []float64) float64 {
	n, middle, sum := float64(len(values)), mean(values), 0.0
	for _, v := range values {
		sum += (v - middle) * (v - middle)
	}
	return math.Sqrt(sum / (n - 1) / n)
}
