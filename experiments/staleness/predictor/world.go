package predictor

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"tandem/algo/job"
	"tandem/algo/protocol/delay"
	"tandem/algo/rng"
	"tandem/experiments/internal/report"
)

// world is a training job whose loss is predicted.
type world struct {
	Name string         `json:"name" yaml:"name"` // w1, w2, … or that of the data
	Data report.DataSet `json:"-" yaml:"data"`
	// Alpha is the share of rows with the most frequent id in HotColumns of the six columns; the others are
	// Zipf. 0 for real data.
	Alpha      float64 `json:"alpha" yaml:"alpha"`
	HotColumns int     `json:"hot_columns" yaml:"hot-columns"`
	Batch      int     `json:"batch" yaml:"batch"`
	Tau        int     `json:"tau" yaml:"tau"`
	Rate       float64 `json:"row_rate" yaml:"row-rate"`
	HeldOut    bool    `json:"held_out" yaml:"held-out"`
}

// String describes a world.
func (w *world) String() string {
	if w.Alpha == 0 {
		return fmt.Sprintf("B %d, τ %d, r %s", w.Batch, w.Tau, report.Digits(w.Rate, 2))
	}
	s := w.Data.Data.Synthetic
	return fmt.Sprintf("%d×α %s, %dk/%dk, B %d, τ %d, r %s", w.HotColumns, report.Digits(w.Alpha, 2),
		s.TrainRows/1000, s.Columns[0].Cardinality/1000, w.Batch, w.Tau, report.Digits(w.Rate, 2))
}

// inComparisons returns how comparisons name the data and the late rows of a world. Generated worlds are one
// data set, so that one finding has all of them.
func (w *world) inComparisons() (data, late string) {
	late = fmt.Sprintf("%d steps late", w.Tau)
	if w.Alpha == 0 {
		return w.Name, late
	}
	return "generated worlds", w.Name + ", " + late
}

// job returns the training of a world under a seed, with late or fresh rows.
func (p *plan) job(w *world, late bool, seed uint64) job.Job {
	j := p.Job
	j.Data = w.Data.WithSeed(seed)
	j.Rows.Optimizer.Rate, j.Training.GlobalBatch, j.Training.Seed = w.Rate, w.Batch, seed
	if late {
		j.Training.Delay = delay.Spec{Kind: delay.Exactly, Steps: w.Tau}
	}
	return j
}

// drawWorlds draws worlds of generated data. Every property is drawn on its own, so that none stands for
// another: frequency, number of hot columns, rows, cardinality, batch, delay and rate.
func drawWorlds(n, rowsLow, rowsHigh, testRows int, seed uint64) (worlds []world) {
	r := rng.New(seed, "predictor worlds")
	for i := range n {
		w := world{
			Name: fmt.Sprintf("w%d", i+1), Alpha: between(r, 0.03, 0.6), HotColumns: 1 + r.IntN(6),
			Batch: 64 << r.IntN(3), Tau: int(math.Round(between(r, 3, 64))), Rate: between(r, 0.03, 0.5),
		}
		rows := int(between(r, float64(rowsLow), float64(rowsHigh)))
		w.Data = report.Generated(w.Alpha, rows, testRows)
		s := *w.Data.Data.Synthetic
		shrink := between(r, 0.1, 1)
		for c := range s.Columns {
			s.Columns[c].Cardinality = int64(float64(s.Columns[c].Cardinality) * shrink)
		}
		r.Shuffle(len(s.AlphaColumns), func(a, b int) {
			s.AlphaColumns[a], s.AlphaColumns[b] = s.AlphaColumns[b], s.AlphaColumns[a]
		})
		s.AlphaColumns = s.AlphaColumns[:w.HotColumns]
		w.Data.Data.Synthetic, w.Data.Name = &s, w.Name
		worlds = append(worlds, w)
	}
	return worlds
}

// between returns a number between two, uniform in its logarithm.
func between(r *rand.Rand, low, high float64) float64 {
	return low * math.Pow(high/low, r.Float64())
}

// realWorlds returns a world of each data set.
func realWorlds(sets []report.DataSet) (worlds []world) {
	for i, d := range sets {
		worlds = append(worlds, world{
			Name: strings.TrimSuffix(strings.TrimSuffix(d.Name, "-income"), "-head"), Data: d, Batch: 64,
			Tau:  []int{31, 15}[i%2],
			Rate: 0.1,
		})
	}
	return worlds
}

// halve holds every second world out, in an order drawn with a seed.
func halve(worlds []world, seed uint64) {
	for i, at := range rng.New(seed, "predictor halves").Perm(len(worlds)) {
		worlds[at].HeldOut = i%2 == 1
	}
}
