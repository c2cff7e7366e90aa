package claims

import (
	"fmt"
	"math"
	"strconv"

	"tandem/algo/metric"
	"tandem/experiments/internal/paper"
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

// Lack is what keeps a claim from being reproduced.
type Lack string

// The lacks. A value is missed if the interval of ours lies beside all that the paper's form allows.
const (
	ValueMissed  Lack = "value missed"
	TooWide      Lack = "too wide"       // the interval meets the value, and spans too much to confirm it
	NotToldApart Lack = "not told apart" // the interval holds both the value and no effect
)

// judgement is what a quantity of ours says about a claim.
type judgement struct {
	Verdict Verdict `json:"verdict"`
	Lacks   Lack    `json:"lacks,omitempty"`
	Why     string  `json:"why"`
}

// String returns the verdict for a table, with what is lacking where the verdict leaves it open.
func (j *judgement) String() string {
	if j.Verdict == ShapeOnly {
		return string(j.Verdict) + ": " + string(j.Lacks)
	}
	return string(j.Verdict)
}

// aucHalfWidthMost is the half width above which the interval of an AUC, or of a difference of two, confirms
// no value: it is the smallest loss that Persia ascribes to asynchronous training, which a wider interval
// could not tell from none.
const aucHalfWidthMost = 0.005

// verdicts returns all verdicts in the order of the summary.
func verdicts() []Verdict {
	return []Verdict{Reproduced, ShapeOnly, NotReproduced, Inconclusive, NotTestable, NotRun}
}

// judge compares an interval of ours with a claim, and says why in words.
//
// A bound is reproduced if the whole interval keeps it, and not reproduced if the whole interval breaks it. A
// value is reproduced if the interval meets what the paper's form allows and is narrow enough for that to
// mean something: it excludes the void value, and spans at most what widest allows. Its shape is reproduced
// if the interval only lies on the same side of the void value. Otherwise a miss is not reproduced, and the
// rest is inconclusive.
func judge(c *claim, ours metric.Interval) judgement {
	p := c.Published
	low, high := p.ends()
	meets := ours.Low <= high && low <= ours.High
	if p.isBound() {
		switch {
		case low <= ours.Low && ours.High <= high:
			return judgement{Reproduced, "", "the whole interval keeps the bound"}
		case !meets:
			return judgement{NotReproduced, ValueMissed, "the whole interval breaks the bound; " +
				c.sensitivity(ours)}
		}
		why := "part of the interval breaks the bound; " + c.sensitivity(ours)
		return judgement{Inconclusive, TooWide, why}
	}
	limit, narrow := c.widest(ours)
	sided := c.Void != nil &&
		(*p.Value > *c.Void && ours.Low > *c.Void || *p.Value < *c.Void && ours.High < *c.Void)
	switch {
	case meets && narrow && (sided || c.Void == nil):
		return judgement{Reproduced, "", "the interval meets the published value"}
	case meets && sided:
		return judgement{ShapeOnly, TooWide, "meets the published value, but " + limit}
	case sided:
		return judgement{ShapeOnly, ValueMissed, p.miss(ours)}
	case !meets:
		return judgement{NotReproduced, ValueMissed, p.miss(ours) + "; " + c.sensitivity(ours)}
	case c.Void != nil:
		return judgement{Inconclusive, NotToldApart, "holds the published value and no effect; " +
			c.sensitivity(ours)}
	}
	return judgement{Inconclusive, TooWide, "meets the published value, but " + limit}
}

// widest reports whether an interval is narrow enough to confirm a published value, and how wide it is beside
// what is allowed: of ratios and throughputs a factor of paper.WidthMost from end to end; of an AUC or a
// difference of two, a half width of aucHalfWidthMost, and at most the size of the published effect.
func (c *claim) widest(ours metric.Interval) (string, bool) {
	p := c.Published
	if p.Unit != "" {
		return fmt.Sprintf("an interval within a factor %g is needed, ours spans %s", paper.WidthMost,
				factor(ours)),
			ours.Low > 0 && ours.High <= paper.WidthMost*ours.Low
	}
	most := aucHalfWidthMost
	if c.Void != nil {
		most = min(most, math.Abs(*p.Value-*c.Void))
	}
	return fmt.Sprintf("an interval within ±%s is needed, ours is ±%s", p.digits(most),
		p.digits(half(ours))), half(ours) <= most
}

// sensitivity says how narrow an interval must be to decide the claim, and how narrow ours is. A bound needs
// an interval that at our estimate does not reach it. A value needs one that cannot hold both the value and
// no effect; a level, which has no such value, one that is narrow enough to confirm it.
func (c *claim) sensitivity(ours metric.Interval) string {
	p := c.Published
	low, high := p.ends()
	if p.isBound() {
		nearest := math.Min(math.Abs(ours.Estimate-low), math.Abs(ours.Estimate-high))
		return fmt.Sprintf("at this estimate, ±%s decides, ours is ±%s", p.digits(nearest),
			p.digits(half(ours)))
	}
	if c.Void == nil {
		limit, _ := c.widest(ours)
		return limit
	}
	nearest := high
	if *p.Value > *c.Void {
		nearest = low
	}
	if p.Unit == "" {
		return fmt.Sprintf("telling the value from no effect needs ±%s, ours is ±%s",
			p.digits(math.Abs(nearest-*c.Void)/2), p.digits(half(ours)))
	}
	return fmt.Sprintf("telling the value from no effect needs an interval within a factor %.2g, ours "+
		"spans %s", max(nearest / *c.Void, *c.Void/nearest), factor(ours))
}

// half returns half the width of an interval.
func half(v metric.Interval) float64 { return (v.High - v.Low) / 2 }

// factor returns the high end of an interval divided by the low one, for people.
func factor(v metric.Interval) string {
	if v.Low <= 0 {
		return "without end"
	}
	return strconv.FormatFloat(v.High/v.Low, 'f', 1, 64)
}

// miss returns how far the nearest end of an interval is from the nearest end of what the paper's form
// allows.
func (p *published) miss(ours metric.Interval) string {
	low, high := p.ends()
	end, theirs := ours.High, low
	if high < ours.Low {
		end, theirs = ours.Low, high
	}
	if p.Unit == "" || end <= 0 || theirs <= 0 {
		return fmt.Sprintf("misses the published value by %s", p.digits(math.Abs(theirs-end)))
	}
	return fmt.Sprintf("misses the published value by a factor %.3g", max(theirs/end, end/theirs))
}
