package predict

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Paired is the ratio of a quantity of one job to the same quantity of another, point by point: both jobs
// take the parameters that they share from the same points, so what is not known of them cancels.
type Paired struct {
	Ratio    float64   // the median over the points
	Interval Interval  // the 1st and 99th percentile
	Above    float64   // part of the points at which the ratio is above 1; one of exactly 1 counts half
	Points   []float64 // the ratios; NaN where one of the jobs does not fit its memory
}

// Pair divides values of one job at the sampled points by those of another. It returns nil if a point in
// common is missing.
func Pair(values, by []float64) *Paired {
	if len(values) != len(by) {
		return nil
	}
	p := &Paired{Points: make([]float64, len(values))}
	known := 0.0
	for k := range p.Points {
		p.Points[k] = values[k] / by[k]
		switch x := p.Points[k]; {
		case math.IsNaN(x):
			continue
		case x > 1:
			p.Above++
		case x == 1:
			p.Above += 0.5
		}
		known++
	}
	span := Percentiles(p.Points)
	if span == nil {
		return nil
	}
	p.Ratio, p.Interval, p.Above = Median(p.Points), *span, p.Above/known
	return p
}

// DollarsPerHour returns the price of the job's hardware: at the middle of every range, and at the sampled
// points of predictions, in their order. If a device has no price, missing names it.
func (j *Job) DollarsPerHour(samples int) (middle float64, sampled []float64, missing string) {
	price := func(j *Job) float64 {
		sum, without := j.Hardware.DollarsPerHour(j.Roles.Ranks, len(j.DenseShards(j.Layout)))
		missing = without
		return float64(sum)
	}
	if middle = price(j); missing != "" {
		return 0, nil, missing
	}
	if samples > 1 {
		for _, p := range j.sample(samples, sampleSeed) {
			sampled = append(sampled, price(j.At(p)))
		}
	}
	return middle, sampled, missing
}

// ErrorOf begins the name of an effect that no parameter has: how far off predictions with a system are.
const ErrorOf = "error of predictions with "

// Deciders names the parameters that decide a ratio of two jobs: those that explain more of it over the
// sampled points, as MainEffects has it, than the best of as many random parameters would in 19 cases of 20.
// With few points there often is none. Ratios are those of Pair, and names are the jobs': a parameter that
// takes its values independently in each is one of its job.
func Deciders(a, b *Job, names [2]string, ratios []float64) (effects []Effect) {
	kept := known(ratios)
	columns := a.columns(len(ratios))
	for name, positions := range b.columns(len(ratios)) { // order-free: names of one job differ
		if own, shared := columns[name]; shared && !slices.Equal(own, positions) {
			delete(columns, name)
			columns[name+" of "+names[0]], columns[name+" of "+names[1]] = own, positions
		} else {
			columns[name] = positions
		}
	}
	if name, errors := errorsApart(a, b, len(ratios)); name != "" {
		columns[name] = errors
	}
	least := chance(len(kept), len(columns))
	for _, e := range mainEffects(columns, ratios, kept, decidersMost) {
		if e.Share > least {
			effects = append(effects, e)
		}
	}
	return effects
}

// decidersMost is the largest number of parameters that Deciders names.
const decidersMost = 3

// errorsApart returns the logarithm of the part of the ratio of two jobs that is due to the errors of their
// predictions, and its name; "" if they have none, or the same.
func errorsApart(a, b *Job, n int) (name string, apart []float64) {
	of, to := a.errors(n), b.errors(n)
	if slices.Equal(of, to) {
		return "", nil
	}
	apart = make([]float64, n)
	for k := range apart {
		if of != nil {
			apart[k] = of[k]
		}
		if to != nil {
			apart[k] -= to[k]
		}
	}
	name = ErrorOf + a.Hardware.System.Name
	if other := b.Hardware.System.Name; of == nil {
		name = ErrorOf + other
	} else if to != nil && other != a.Hardware.System.Name {
		name += " and " + other
	}
	return name, apart
}

// chance returns the share of the variance of n values which the best of some random columns explains in 1
// case of 20; 1 if there are too few values to say.
//
// With a random column, t = r √((n−2)/(1−r²)) of its correlation r has Student's distribution.
func chance(n, columns int) float64 {
	if n < 4 || columns == 0 {
		return 1
	}
	each := 1 - math.Pow(0.95, 1/float64(columns)) // of 20 cases, for one column
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 2)}.Quantile(1 - each/2)
	return float64(t*t) / (float64(t*t) + float64(n-2))
}
