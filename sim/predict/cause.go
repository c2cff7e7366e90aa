package predict

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"tandem/internal/parallel"
	"tandem/sim/param"
)

// Cause says how large one parameter must be, with all others at the middle of their ranges, for the ratio of
// the throughputs of two jobs to reach a target.
type Cause struct {
	Name string `json:"name"`
	Now  string `json:"now"` // the middle of its range
	// Reaches reports whether the parameter alone reaches the target within the factors of the search. Value
	// and Factor, of Now, are where it does or, if it does not, where the ratio comes nearest.
	Reaches bool    `json:"reaches"`
	Value   string  `json:"value"`
	Factor  float64 `json:"factor"`
	Ratio   float64 `json:"ratio"`  // there
	Inside  bool    `json:"inside"` // the value is in the range of the parameter
}

// causeFactors are the factors of a parameter between which the search looks for the target, ascending. One
// of them is 1.
var causeFactors = []float64{0.01, 0.1, 1, 10, 100}

// causeSteps is the number of bisections, after which factors differ by less than 2 %.
const causeSteps = 7

// Causes returns, for every parameter that two jobs share, how large it must be for the throughput of a
// divided by that of b to reach a target, without a change of any other parameter. The parameters that reach
// it come first, the smallest change of them before the others, then those that come near.
//
// It looks at 0.01, 0.1, 1, 10 and 100 times the middle of a range and then bisects, in the logarithm of the
// factor, the segment nearest to 1 whose ends have the target between them: a target that is reached only
// inside a segment, and left again, is not found. Whole numbers stay at least 1 and shares at most 1. The
// middle of a range that is 0 counts as its high end or, for whole numbers, where 0 stands for all there are,
// as 1. Before each parameter it calls before, unless that is nil, from any goroutine. Cost: 8 to 22
// simulations a parameter.
func Causes(
	ctx context.Context, a, b *Job, names []string, target float64, o Options, before func(),
) ([]Cause, error) {
	s := causeSearch{ctx: ctx, a: a, b: b, target: target, options: &o}
	now, err := s.ratio("", 0)
	if err != nil {
		return nil, err
	}
	common := b.Parameters()
	parameters := slices.DeleteFunc(a.Parameters(), func(e param.Entry) bool {
		_, err := common.Find(e.Name)
		unwanted := len(names) > 0 && !slices.Contains(names, e.Name)
		return err != nil || unwanted || newScale(e).middle == 0
	})
	causes := make([]Cause, len(parameters))
	errs := make([]error, len(parameters))
	parallel.ForEach(workers(&o), len(parameters), func(i int) {
		if errs[i] = ctx.Err(); errs[i] != nil {
			return
		}
		if before != nil {
			before()
		}
		causes[i] = s.cause(parameters[i], now)
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	off := func(x, y float64) float64 { return math.Abs(math.Log(x / y)) }
	slices.SortStableFunc(causes, func(x, y Cause) int {
		switch {
		case x.Reaches && y.Reaches:
			return cmp.Compare(off(x.Factor, 1), off(y.Factor, 1))
		case x.Reaches:
			return -1
		case y.Reaches:
			return 1
		}
		return cmp.Compare(off(x.Ratio, target), off(y.Ratio, target))
	})
	return causes, nil
}

// scale is the values that a search gives a parameter.
type scale struct {
	middle, least, most float64
	whole               bool
}

func newScale(e param.Entry) scale {
	_, mid, high := e.Span()
	s := scale{middle: mid, most: math.Inf(1)}
	if s.middle == 0 {
		s.middle = high
	}
	if _, fraction := e.Parse("1.5"); fraction != nil {
		if _, whole := e.Parse("1"); whole == nil {
			s.middle, s.least, s.whole = max(s.middle, 1), 1, true
		}
	}
	for _, share := range []string{"share", "captured", "fused", "all-reduce", "all-to-all", "forward",
		"backward", "inputs", "reductions", "relayed", "host-reserve"} {
		if strings.HasSuffix(e.Name, share) {
			s.most = 1
		}
	}
	if strings.HasSuffix(e.Name, "dense-kernels.products") {
		s.least = 1 // a multiple of the best kernel
	}
	return s
}

// at returns the value at a factor of the middle.
func (s scale) at(factor float64) float64 {
	value := min(max(s.middle*factor, s.least), s.most)
	if s.whole {
		return math.Round(value)
	}
	return value
}

// causeSearch is the search for what reaches a target.
type causeSearch struct {
	ctx     context.Context
	a, b    *Job
	target  float64
	options *Options
}

// ratio returns the ratio with one parameter at a value, or with none changed if name is empty.
func (s *causeSearch) ratio(name string, value float64) (float64, error) {
	var throughput [2]float64
	for i, j := range []*Job{s.a, s.b} {
		if name != "" {
			j = j.with(name, value)
		}
		r, err := s.options.run(s.ctx, j, s.options.Seed)
		if err != nil {
			return 0, err
		}
		throughput[i] = r.Throughput
	}
	return throughput[0] / throughput[1], nil
}

// with returns the job with one parameter at a value.
func (j *Job) with(name string, value float64) *Job {
	c := j.clone()
	for _, e := range c.Parameters() {
		if e.Name == name {
			e.Fix(value)
		}
	}
	c.describe()
	return c
}

// tried is a factor with its ratio; NaN where the jobs do not run, as with too little memory.
type tried struct{ factor, ratio float64 }

// cause searches for the value of one parameter. Now is the ratio with its middle.
func (s *causeSearch) cause(e param.Entry, now float64) Cause {
	values := newScale(e)
	try := func(factor float64) tried {
		ratio, err := s.ratio(e.Name, values.at(factor))
		if err != nil {
			ratio = math.NaN()
		}
		return tried{factor, ratio}
	}
	start := tried{1, now}
	lowEnd, mid, highEnd := e.Span()
	if values.middle != mid {
		start = try(1)
	}
	low, high, reaches := s.straddle(values, try, start)
	for range causeSteps {
		if !reaches {
			break
		}
		middle := try(math.Sqrt(low.factor * high.factor))
		if s.between(low.ratio, middle.ratio) {
			high = middle
		} else {
			low = middle
		}
	}
	best := low
	if s.distance(high) < s.distance(low) {
		best = high
	}
	value := values.at(best.factor)
	return Cause{
		Name: e.Name, Now: e.Text(mid), Reaches: reaches, Value: e.Text(value), Factor: value / values.middle,
		Ratio: best.ratio, Inside: lowEnd <= value && value <= highEnd,
	}
}

// straddle returns the two neighbouring factors nearest to 1 between whose ratios the target is, or else the
// factor whose ratio is nearest to the target, twice.
func (s *causeSearch) straddle(
	values scale, try func(factor float64) tried, start tried,
) (low, high tried, reaches bool) {
	best, nearest := start, math.Inf(1)
	for _, direction := range []int{1, -1} {
		last := start
		for i := slices.Index(causeFactors, 1) + direction; i >= 0 && i < len(causeFactors); i += direction {
			if values.at(causeFactors[i]) == values.at(last.factor) {
				break
			}
			next := try(causeFactors[i])
			if s.between(last.ratio, next.ratio) {
				if away := math.Abs(math.Log(last.factor)); away < nearest {
					low, high, nearest, reaches = last, next, away, true
				}
				break
			}
			if s.distance(next) < s.distance(best) {
				best = next
			}
			last = next
		}
	}
	if !reaches {
		return best, best, false
	}
	return low, high, true
}

// between reports whether the target is between two ratios.
func (s *causeSearch) between(x, y float64) bool {
	return min(x, y) <= s.target && s.target <= max(x, y)
}

// distance returns how far a ratio is from the target, in its logarithm; infinite for NaN.
func (s *causeSearch) distance(t tried) float64 {
	if math.IsNaN(t.ratio) {
		return math.Inf(1)
	}
	return math.Abs(math.Log(t.ratio / s.target))
}
