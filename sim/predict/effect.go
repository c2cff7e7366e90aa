package predict

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"tandem/internal/parallel"
	"tandem/sim/param"
	"tandem/sim/system"
)

// Effect is how much of what is not known about a throughput one parameter accounts for.
type Effect struct {
	Name string `json:"name"`
	// Share is the total effect: the part of the variance of the logarithm of the throughput over the box
	// that would remain if all other parameters were known, interactions included. The shares of all
	// parameters sum to 1 or more.
	Share float64 `json:"share"`
}

// effectPoints is the number of points from which total effects are estimated.
const effectPoints = 16

// Effects ranks the parameters of a job by their total effect on the throughput, the largest first.
// Parameters that are known are left out.
//
// It is the estimator of Jansen (Computer Physics Communications 117, 1999): at each of 16 points, one
// parameter at a time moves to its position at another point. Moves from or to a point at which the job does
// not fit its memory are left out. Cost: 16 simulations for every unknown parameter, and one more if tables
// are placed.
func Effects(ctx context.Context, j *Job, o Options) ([]Effect, error) {
	if j.Hardware.System.Architecture == system.StepGraph {
		var err error
		if j, _, err = o.place(ctx, j); err != nil {
			return nil, err
		}
	}
	v := j.Parameters()
	points := j.sample(2*effectPoints, sampleSeed+1)
	base, other := points[:effectPoints], points[effectPoints:]
	var unknown []int
	for i, e := range v {
		if !e.Known() {
			unknown = append(unknown, i)
		}
	}
	// The first row is the base points, then one row for each unknown.
	logs := make([]float64, effectPoints*(1+len(unknown)))
	errs := make([]error, len(logs))
	count := o.counter(len(logs))
	parallel.ForEach(workers(&o), len(logs), func(k int) {
		if errs[k] = ctx.Err(); errs[k] != nil {
			return
		}
		defer count()
		p := slices.Clone(base[k%effectPoints])
		if row := k / effectPoints; row > 0 {
			p[unknown[row-1]] = other[k%effectPoints][unknown[row-1]]
		}
		var r Result
		r, errs[k] = o.run(ctx, j.At(p), o.Seed)
		logs[k] = math.Log(r.Throughput)
		if DoesNotFit(errs[k]) {
			errs[k], logs[k] = nil, math.NaN()
		}
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return shares(v, unknown, logs), nil
}

// shares returns the total effects from the logarithms of throughput at the base points and, for each
// unknown, at the points where it alone differs. NaN are left out.
func shares(v param.Vector, unknown []int, logs []float64) (effects []Effect) {
	variance := stat.PopVariance(slices.DeleteFunc(slices.Clone(logs), math.IsNaN), nil)
	for row, i := range unknown {
		sum, moves := 0.0, 0.0
		for k := range effectPoints {
			if d := logs[(row+1)*effectPoints+k] - logs[k]; !math.IsNaN(d) {
				sum += float64(d * d)
				moves++
			}
		}
		share := 0.0
		if variance > 0 && moves > 0 {
			share = sum / (2 * moves) / variance
		}
		effects = append(effects, Effect{v[i].Name, share})
	}
	slices.SortStableFunc(effects, func(a, b Effect) int { return cmp.Compare(b.Share, a.Share) })
	return effects
}

// MainEffects ranks the parameters of a job by how much of what the sampled points say about a quantity each
// explains, the largest first: the share of the variance of the quantity's ranks that a linear regression on
// the ranks of the parameter explains, after those of the parameters before it. Values are the quantity at
// the sampled points of predictions, in their order, such as a ratio of the samples of two predictions; NaN
// are left out. It returns at most most parameters. It runs no simulation.
func MainEffects(j *Job, values []float64, most int) []Effect {
	return mainEffects(j.columns(len(values)), values, known(values), most)
}

// known returns the places of the values that are numbers.
func known(values []float64) (kept []int) {
	for k, x := range values {
		if !math.IsNaN(x) {
			kept = append(kept, k)
		}
	}
	return kept
}

// columns returns the positions of each unknown parameter at the sampled points of predictions.
func (j *Job) columns(n int) map[string][]float64 {
	columns := map[string][]float64{}
	points := j.sample(n, sampleSeed)
	for i, e := range j.Parameters() {
		if e.Known() {
			continue
		}
		positions := make([]float64, n)
		for k := range positions {
			positions[k] = points[k][i]
		}
		columns[e.Name] = positions
	}
	return columns
}

// mainEffects is MainEffects of any columns, of which it looks at the places kept.
func mainEffects(columns map[string][]float64, values []float64, kept []int, most int) (effects []Effect) {
	ranked := func(all []float64) []float64 {
		c := make([]float64, len(kept))
		for i, k := range kept {
			c[i] = all[k]
		}
		return ranks(c)
	}
	rest := ranked(values)
	left := map[string][]float64{}
	for name, positions := range columns { // order-free: each is ranked by itself
		left[name] = ranked(positions)
	}
	all := stat.Variance(rest, nil)
	for len(effects) < most && len(left) > 0 && all > 0 {
		best, share := "", 0.0
		for _, name := range slices.Sorted(maps.Keys(left)) {
			r := stat.Correlation(left[name], rest, nil)
			if float64(r*r) > share {
				best, share = name, float64(r*r)
			}
		}
		if best == "" {
			break
		}
		effects = append(effects, Effect{best, share * stat.Variance(rest, nil) / all})
		offset, slope := stat.LinearRegression(left[best], rest, nil, false)
		for i, x := range left[best] {
			rest[i] -= offset + float64(slope*x)
		}
		delete(left, best)
	}
	return effects
}

// ranks returns the place of each value in ascending order. Equal values share the mean of their places.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	places := make([]float64, len(values))
	for i := 0; i < len(order); {
		end := i + 1
		for end < len(order) && values[order[end]] == values[order[i]] {
			end++
		}
		for _, k := range order[i:end] {
			places[k] = float64(i+end-1) / 2
		}
		i = end
	}
	return places
}
