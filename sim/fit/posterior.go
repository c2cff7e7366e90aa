package fit

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"tandem/sim/param"
	"tandem/sim/predict"
	"tandem/sim/system"
)

// confounded is the correlation from which on two quantities cannot be told apart.
const confounded = 0.7

// posterior describes the points of the posterior.
func (s *sampler) posterior(states []state) (*Posterior, error) {
	p := &Posterior{Confounded: s.pairs(states)}
	var kept []int
	for _, i := range s.active {
		if strings.HasPrefix(s.name(i), predict.SystemPrefix) {
			kept = append(kept, i)
		}
	}
	if err := s.middleFirst(states, kept); err != nil {
		return nil, err
	}
	for m, step := range s.steps {
		times := make([]float64, len(states))
		for k := range states {
			times[k] = step.Seconds * math.Exp(states[k].errors[m])
		}
		slices.Sort(times)
		p.Steps = append(p.Steps, Fitted{Name: step.Name, Measured: step.Seconds,
			Before: step.Seconds * math.Exp(s.middle.errors[m]), Low: times[0], After: predict.Median(times),
			High: times[len(times)-1]})
	}
	if len(kept) == 0 {
		return p, nil
	}
	c := &system.Calibration{Points: make([][]float64, len(states))}
	for _, i := range kept {
		e := s.vector[i]
		low, mid, high := e.Span()
		name := strings.TrimPrefix(s.name(i), predict.SystemPrefix)
		c.Names = append(c.Names, name)
		c.Ranges = append(c.Ranges, []float64{low, mid, high})
		values := make([]float64, len(states))
		for k := range states {
			position := math.Round(states[k].point[i]*positionUnits) / positionUnits
			c.Points[k] = append(c.Points[k], position)
			values[k] = e.At(position)
		}
		slices.Sort(values)
		least, most := quantile(values, 1-central), quantile(values, central)
		p.Quantities = append(p.Quantities, Quantity{Name: name, PriorLow: e.Text(low), PriorMid: e.Text(mid),
			PriorHigh: e.Text(high), Low: e.Text(least), Median: e.Text(predict.Median(values)),
			High: e.Text(most), Remains: (most - least) / math.Abs(e.At(2*central-1)-e.At(1-2*central))})
	}
	p.Calibration = c
	return p, nil
}

// central is the higher quantile of the central 80 % of points.
const central = 0.9

// middleFirst moves the state to the front that explains the steps best if nothing but the kept quantities
// differs from the middle: that is how predictions take their middle.
func (s *sampler) middleFirst(states []state, kept []int) error {
	points := make([]param.Point, len(states))
	for k := range states {
		points[k] = s.vector.Everywhere(0)
		for _, i := range kept {
			points[k][i] = states[k].point[i]
		}
	}
	middles, err := s.evaluate(points)
	if err != nil {
		return err
	}
	best := 0
	for k := range middles {
		if s.loss(&middles[k]) < s.loss(&middles[best]) {
			best = k
		}
	}
	states[0], states[best] = states[best], states[0]
	return nil
}

// positionUnits is the number of units of a position of 1: positions are rounded, so that a file of them is
// short.
const positionUnits = 1e4

// quantile returns a quantile of sorted values, by the nearest.
func quantile(sorted []float64, q float64) float64 {
	return sorted[int(math.Round(q*float64(len(sorted)-1)))]
}

// pairs returns the pairs of active quantities that the points cannot tell apart.
func (s *sampler) pairs(states []state) []Pair {
	list := []Pair{}
	columns := make([][]float64, len(s.active))
	for a, i := range s.active {
		for k := range states {
			columns[a] = append(columns[a], states[k].point[i])
		}
		for b := range a {
			if r := stat.Correlation(columns[a], columns[b], nil); math.Abs(r) >= confounded {
				list = append(list, Pair{s.name(s.active[b]), s.name(i), r})
			}
		}
	}
	slices.SortStableFunc(list, func(x, y Pair) int {
		return cmp.Compare(math.Abs(y.Correlation), math.Abs(x.Correlation))
	})
	return list
}
