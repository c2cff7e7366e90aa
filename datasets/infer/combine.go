package infer

import (
	"cmp"
	"math"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/internal/parallel"
)

// combination is a column, or a pair of columns, whose values may say what the log odds of rows lack.
type combination struct {
	columns []int   // one or two
	cells   []int32 // of the rows: the number of their value, or pair of values
	count   int     // of different cells
	taken   bool
	gain    float64 // in nats, over all rows, as measure estimates it
	// deviation is the standard error of the gain.
	deviation float64
}

// indexed is a column of which every row has one value: the numbers of the rows' values, and how many there
// are.
type indexed struct {
	values []int32
	count  int
}

// newIndexed numbers the values of a slot. It returns false if not every row has one id.
func newIndexed(slot batch.Jagged, rows int) (indexed, bool) {
	c := indexed{values: make([]int32, rows)}
	known := map[uint64]int32{}
	for row := range rows {
		ids := slot.SampleIDs(row)
		if len(ids) != 1 {
			return c, false
		}
		at, seen := known[ids[0]]
		if !seen {
			at = int32(len(known))
			known[ids[0]] = at
		}
		c.values[row] = at
	}
	c.count = len(known)
	return c, true
}

// pair returns the combination of two columns.
func pair(columns []indexed, a, b int) *combination {
	first, second := &columns[a], &columns[b]
	c := &combination{columns: []int{a, b}, cells: make([]int32, len(first.values))}
	known := map[int64]int32{}
	for row, value := range first.values {
		key := int64(value)*int64(second.count) + int64(second.values[row])
		at, seen := known[key]
		if !seen {
			at = int32(len(known))
			known[key] = at
		}
		c.cells[row] = at
	}
	c.count = len(known)
	return c
}

// residuals are what is left to explain of labels y by predictions p: the gradients w·(y − p) of the log
// likelihood by the log odds, and its curvatures w·p (1 − p), for weights w. Of numbers in a unit u, they are
// w·(y − p)/u and w, and p/u takes the place of the log odds.
type residuals struct {
	labels, weights []float32
	unit            float64 // of numbers; 0: labels are from 0 to 1
	odds            []float64
	gradients       []float64
	curvatures      []float64
}

// set sets the residuals at the log odds.
func (r *residuals) set() {
	for row, z := range r.odds {
		w := 1.0
		if r.weights != nil {
			w = float64(r.weights[row])
		}
		if r.unit > 0 {
			r.gradients[row], r.curvatures[row] = w*(float64(r.labels[row])/r.unit-z), w
			continue
		}
		p := 1 / (1 + math.Exp(-z))
		r.gradients[row], r.curvatures[row] = w*(float64(r.labels[row])-p), w*p*(1-p)
	}
}

// newResiduals returns the residuals of predictions; weights may be nil, and unit is 0 but for numbers.
func newResiduals(predicted, labels, weights []float32, unit float64) *residuals {
	n := len(labels)
	r := &residuals{labels, weights, unit, make([]float64, n), make([]float64, n), make([]float64, n)}
	const certain = 1e-6 // keeps the log odds finite
	for row, p := range predicted {
		if unit > 0 {
			r.odds[row] = float64(p) / unit
			continue
		}
		x := min(max(float64(p), certain), 1-certain)
		r.odds[row] = math.Log(x / (1 - x))
	}
	r.set()
	return r
}

// unitOf returns the unit of the first label of a job, 0 if its labels are from 0 to 1.
func unitOf(j *job.Job) float64 {
	if j.Model.Loss != model.SquaredLoss {
		return 0
	}
	return cmp.Or(j.Model.Heads[0].Scale, 1)
}

// effectMost bounds the effect of a cell on the log odds of a row, since a step of Newton is too long where
// predictions are nearly certain.
const effectMost = 3

// effects calls use with the effect of each row's cell on its log odds: a step of Newton from 0 on the other
// rows of the cell, with a prior of variance 1, as SetRowOptimizer has. The row itself does not count, so the
// sum of what the effects gain estimates the gain on rows that are not there yet.
func (c *combination) effects(r *residuals, use func(row int, effect float64)) {
	sums := make([][2]float64, c.count)
	for row, cell := range c.cells {
		sums[cell][0] += r.gradients[row]
		sums[cell][1] += r.curvatures[row]
	}
	for row, cell := range c.cells {
		effect := (sums[cell][0] - r.gradients[row]) / (sums[cell][1] - r.curvatures[row] + 1)
		use(row, min(max(effect, -effectMost), effectMost))
	}
}

// measure sets the gain of a combination: of the log likelihood, in its second-order expansion.
func (c *combination) measure(r *residuals) {
	sum, squares := 0.0, 0.0
	c.effects(r, func(row int, effect float64) {
		gain := r.gradients[row]*effect - r.curvatures[row]*effect*effect/2
		sum += gain
		squares += gain * gain
	})
	c.gain = sum
	c.deviation = math.Sqrt(max(squares-sum*sum/float64(len(c.cells)), 0))
}

// combine returns combinations that gain in log likelihood, at most a number of them, in the order in which
// they were chosen. In each round it takes the one that gains most, and adds its effects to the log odds. A
// gain counts if it is above √(2 ln n) standard errors, about the largest of n standard normal numbers, for n
// combinations.
func combine(all []*combination, r *residuals, most int) (chosen []*combination) {
	level := math.Sqrt(2 * math.Log(float64(max(len(all), 2))))
	for len(chosen) < most {
		parallel.ForEach(parallel.Cores(), len(all), func(i int) {
			if !all[i].taken {
				all[i].measure(r)
			}
		})
		var best *combination
		for _, c := range all {
			if !c.taken && c.gain > level*c.deviation && (best == nil || c.gain > best.gain) {
				best = c
			}
		}
		if best == nil {
			break
		}
		best.taken = true
		chosen = append(chosen, best)
		best.effects(r, func(row int, effect float64) { r.odds[row] += effect })
		r.set()
	}
	return chosen
}
