package claims

import (
	"fmt"
	"math"

	"tandem/algo/metric"
	"tandem/experiments/paper"
)

// Verdict is what a quantity of ours says about a claim.
type Verdict string

// The verdicts. See judge.
const (
	Reproduced    Verdict = "reproduced"
	ShapeOnly     Verdict = "shape only"
	NotReproduced Verdict = "not reproduced"
	Inconclusive  Verdict = "inconclusive"
	NotTestable   Verdict = "not testable here"
	NotRun        Verdict = "not run"
)

// verdicts returns all verdicts in the order of the summary.
func verdicts() []Verdict {
	return []Verdict{Reproduced, ShapeOnly, NotReproduced, Inconclusive, NotTestable, NotRun}
}

// judge compares an interval of ours with a claim, and says why in words.
//
// A bound is reproduced if the whole interval keeps it, and not reproduced if the whole interval breaks it. A
// value is reproduced if the interval meets what the paper's form allows and is narrow enough for that to
// mean something: it excludes the void value, and of positive values it spans at most paper.WidthMost. Its
// shape is reproduced if the interval only lies on the same side of the void value. Otherwise a miss is not
// reproduced, and the rest is inconclusive.
func judge(c *claim, ours metric.Interval) (Verdict, string) {
	p := c.Published
	low, high := p.ends()
	meets := ours.Low <= high && low <= ours.High
	if p.isBound() {
		switch {
		case low <= ours.Low && ours.High <= high:
			return Reproduced, "the whole interval keeps the bound"
		case !meets:
			return NotReproduced, "the whole interval breaks the bound"
		}
		return Inconclusive, p.needs(ours)
	}
	narrow := ours.Low <= 0 || ours.High <= paper.WidthMost*ours.Low
	sided := c.Void != nil &&
		(*p.Value > *c.Void && ours.Low > *c.Void || *p.Value < *c.Void && ours.High < *c.Void)
	switch {
	case meets && narrow && (sided || c.Void == nil):
		return Reproduced, "the interval meets the published value"
	case meets && sided:
		return ShapeOnly, fmt.Sprintf("the value needs an interval within a factor %g, not %.1f",
			paper.WidthMost,
			ours.High/ours.Low)
	case sided:
		return ShapeOnly, p.miss(ours)
	case !meets:
		return NotReproduced, p.miss(ours)
	case c.Void != nil:
		return Inconclusive, fmt.Sprintf("needs an interval that excludes %s", p.text(*c.Void))
	}
	return Inconclusive, fmt.Sprintf("needs an interval within a factor %g, not %.1f", paper.WidthMost,
		ours.High/ours.Low)
}

// needs returns how narrow an interval around this estimate must be to keep or break the bound.
func (p *published) needs(ours metric.Interval) string {
	low, high := p.ends()
	nearest := math.Min(math.Abs(ours.Estimate-low), math.Abs(ours.Estimate-high))
	return fmt.Sprintf("needs an interval of ±%s at this estimate", p.digits(nearest))
}

// miss returns how far the nearest end of an interval is from the published value.
func (p *published) miss(ours metric.Interval) string {
	end := ours.High
	if *p.Value < ours.Low {
		end = ours.Low
	}
	if p.Unit == "" || end <= 0 || *p.Value <= 0 {
		return fmt.Sprintf("the nearest end is %s away", p.digits(math.Abs(*p.Value-end)))
	}
	factor := *p.Value / end
	return fmt.Sprintf("the nearest end needs a factor %.2g", max(factor, 1/factor))
}
