package source

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"tandem/algo/metric"
	"tandem/algo/rng"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
)

// prediction is how well each scalar orders the losses of the worlds.
type prediction struct {
	Worlds  []worldLoss `json:"worlds"`
	Scalars []score     `json:"scalars"` // in the order of the first half, the best first
	// ByChance is the rank correlation on the held-out half that a scalar of random numbers exceeds, in
	// size, with a probability of 5 %.
	ByChance float64 `json:"by_chance"`
	// Predicted are the losses by the chosen scalar, for all worlds: the monotone fit to the first half.
	Predicted []float64 `json:"predicted"`
	// Error and NullError are the median absolute errors on the held-out half: of the prediction, and of the
	// mean loss of the first half.
	Error     float64 `json:"median_error"`
	NullError float64 `json:"median_error_of_the_mean"`
}

// score is the rank correlations of a scalar with the loss.
type score struct {
	Name  string  `json:"name"`
	Words string  `json:"meaning"`
	First float64 `json:"spearman_first_half"`
	// HeldOut has an interval over resamples of the held-out worlds.
	HeldOut metric.Interval `json:"spearman_held_out"`
}

func half(worlds []worldLoss, heldOut bool) []worldLoss {
	return slices.DeleteFunc(slices.Clone(worlds), func(w worldLoss) bool { return w.HeldOut != heldOut })
}

func values(worlds []worldLoss, name string) (x, y []float64) {
	for i := range worlds {
		x, y = append(x, worlds[i].Scalars[name]), append(y, worlds[i].Loss.Estimate)
	}
	return x, y
}

// choose orders the scalars by the first half, and judges them on the other.
func (p *predictorPlan) choose(worlds []worldLoss) *prediction {
	c := &prediction{Worlds: worlds}
	first, held := half(worlds, false), half(worlds, true)
	for _, s := range scalars(facts{}) {
		one := score{Name: s.name, Words: s.words, First: judge.Spearman(values(first, s.name))}
		x, y := values(held, s.name)
		one.HeldOut = p.bootstrap(x, y)
		c.Scalars = append(c.Scalars, one)
	}
	slices.SortStableFunc(c.Scalars, func(a, b score) int { return cmp.Compare(b.First, a.First) })
	best := c.Scalars[0].Name
	_, losses := values(held, best)
	c.ByChance = p.byChance(losses)
	x, y := values(first, best)
	curve, mean := fitMonotone(x, y), stat.Mean(y, nil)
	var errors, ofMean []float64
	for i := range worlds {
		v, loss := curve.at(worlds[i].Scalars[best]), worlds[i].Loss.Estimate
		c.Predicted = append(c.Predicted, v)
		if worlds[i].HeldOut {
			errors, ofMean = append(errors, math.Abs(v-loss)), append(ofMean, math.Abs(mean-loss))
		}
	}
	c.Error, c.NullError = report.Median(errors), report.Median(ofMean)
	return c
}

// drawn returns a number of draws in ascending order.
func drawn(n int, draw func() float64) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = draw()
	}
	slices.Sort(all)
	return all
}

// bootstrap returns the rank correlation with its 95 % interval: the percentiles over resamples of the pairs.
func (p *predictorPlan) bootstrap(x, y []float64) metric.Interval {
	r := rng.New(p.Seed, "predictor bootstrap")
	a, b := make([]float64, len(x)), make([]float64, len(x))
	all := drawn(p.Resamples, func() float64 {
		for i := range a {
			at := r.IntN(len(x))
			a[i], b[i] = x[at], y[at]
		}
		return judge.Spearman(a, b)
	})
	return metric.Interval{
		Estimate: judge.Spearman(x, y), Low: stat.Quantile(0.025, stat.LinInterp, all, nil),
		High: stat.Quantile(0.975, stat.LinInterp, all, nil),
	}
}

// byChance returns the 95 % point of the size of the rank correlation with a random order.
func (p *predictorPlan) byChance(y []float64) float64 {
	r, x := rng.New(p.Seed, "predictor by chance"), make([]float64, len(y))
	return stat.Quantile(0.95, stat.LinInterp, drawn(p.Resamples, func() float64 {
		for i := range x {
			x[i] = r.Float64()
		}
		return math.Abs(judge.Spearman(x, y))
	}), nil)
}

// monotone is a function that never falls, linear between its points.
type monotone struct{ x, y []float64 }

// fitMonotone returns the function that never falls with the least squared error at the points: neighbours
// that fall are joined to their mean.
//
// Source: Ayer and others, Annals of Mathematical Statistics 26 (1955).
func fitMonotone(x, y []float64) monotone {
	type block struct{ x, y, weight float64 }
	points := make([]block, len(x))
	for i := range points {
		points[i] = block{x[i], y[i], 1}
	}
	slices.SortFunc(points, func(a, b block) int { return cmp.Compare(a.x, b.x) })
	var blocks []block
	for _, p := range points {
		blocks = append(blocks, p)
		for n := len(blocks); n > 1; n-- {
			a, b := blocks[n-2], blocks[n-1]
			if a.y < b.y && a.x < b.x {
				break
			}
			w := a.weight + b.weight
			blocks = append(blocks[:n-2], block{
				(a.x*a.weight + b.x*b.weight) / w, (a.y*a.weight + b.y*b.weight) / w, w,
			})
		}
	}
	var m monotone
	for _, b := range blocks {
		m.x, m.y = append(m.x, b.x), append(m.y, b.y)
	}
	return m
}

// at returns the function at x, which is constant beyond its ends.
func (m monotone) at(x float64) float64 {
	i, _ := slices.BinarySearch(m.x, x)
	switch {
	case i == 0:
		return m.y[0]
	case i == len(m.x):
		return m.y[i-1]
	}
	part := (x - m.x[i-1]) / (m.x[i] - m.x[i-1])
	return m.y[i-1] + part*(m.y[i]-m.y[i-1])
}

// facts are what scalars are computed from. None needs a training with late rows.
type facts struct {
	shares [][]float64 // of the samples with an id, by column
	batch  float64     // samples of a step
	steps  float64     // of the training
	tau    float64
	rate   float64 // of rows
}

// scalar is a number that may predict the loss.
type scalar struct {
	name, words string
	value       float64
}

// hotShare is the share of rows from which an id counts as hot.
const hotShare = 0.1

// scalars returns all candidates with their values. The last is the null model.
func scalars(f facts) []scalar {
	var most, hot, heads, squares, gradients, updates float64
	for _, column := range f.shares {
		top := 0.0
		for _, q := range column {
			top = max(top, q)
			squares += float64(q * q)
			inBatch := 1 - math.Pow(1-q, f.batch) // the probability that a batch contains the id
			gradients += inBatch
			updates += float64(inBatch * inBatch)
		}
		if top >= hotShare {
			hot++
		}
		most, heads = max(most, top), heads+top
	}
	return []scalar{
		{"max q", "the share of rows with the most frequent id of any column", most},
		{"hot columns", "columns with an id in at least a tenth of the rows", hot},
		{"heads", "sum over columns of the share of the most frequent id", heads},
		{"Σq²", "sum over ids of the squared share: common ids of two samples", squares},
		{"missed updates", "updates of a row while its gradient is late, mean", f.tau * updates / gradients},
		{"τ·Σq²", "delay × common ids", f.tau * squares},
		{"τ·Σq²·rate", "delay × common ids × rate of rows", f.tau * squares * f.rate},
		{"τ·Σq²÷steps", "delay × common ids, relative to the length of the run",
			f.tau * squares / f.steps},
		{"τ·Σq²·rate÷steps", "delay × common ids × rate of rows, relative to the length of the run",
			f.tau * squares * f.rate / f.steps},
		{"τ·heads÷steps", "delay × heads, relative to the length of the run", f.tau * heads / f.steps},
		{"√τ·heads÷steps", "root of the delay × heads, relative to the length of the run",
			math.Sqrt(f.tau) * heads / f.steps},
		{"τ÷steps", "delay relative to the length of the run: the lag", f.tau / f.steps},
		{"τ", "the delay alone: the null model", f.tau},
	}
}
