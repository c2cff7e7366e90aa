package worth

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"tandem/algo/metric"
	"tandem/algo/numeric/batch"
	"tandem/algo/rng"
)

// Importance says which columns the predictions of a model depend on.
type Importance struct {
	Rows      int     `json:"rows"`      // test rows that were predicted
	Positives int     `json:"positives"` // of these
	Rounds    int     `json:"rounds"`    // permutations of each column
	AUC       float64 `json:"auc"`       // of these rows, as they are
	Falls     []Fall  `json:"falls"`     // the largest first
}

// Fall is the fall of AUC when columns are permuted, with its 95 % interval by the draw of the rows and of
// the permutations.
type Fall struct {
	// Columns is one column or, of a wide table, several that were permuted together.
	Columns []string `json:"columns"`
	metric.Interval

	features []Feature
}

const (
	// rowsMax and cellsMax bound the test rows that are predicted, and these times columns; rowsMin rows are
	// predicted of any table.
	rowsMax, rowsMin, cellsMax = 4000, 500, 100_000
	// fallsMax is the number of falls that are measured, each by rounds permutations.
	fallsMax, rounds = 100, 3
	// resamples of the rows determine the standard error of a fall to a tenth.
	resamples = 50
)

// Permute measures how much the AUC of the first label falls when features are permuted. predict returns
// probabilities of rows, rows × labels. Of more than 100 features, neighbours are permuted together, and the
// group with the largest fall is divided until 100 falls are measured. It returns nil if the rows have no
// AUC, or there are no features. Equal seeds give equal bits.
//
// Cost: 301 predictions of at most 4,000 rows, and of fewer with more than 25 columns, but 500.
func Permute(ctx context.Context, predict func(*batch.Batch) ([]float32, error), test *batch.Batch,
	features []Feature, seed uint64) (*Importance, error) {
	labels := len(test.Labels) / max(test.Samples, 1)
	inputs := max(len(test.Slots)+len(test.Dense)/max(test.Samples, 1), 1)
	rows := batch.Gather(test, sample(batch.Column(test.Labels, max(labels, 1), 0),
		min(rowsMax, max(cellsMax/inputs, rowsMin)), seed))
	p := &permutation{predict: predict, rows: rows, labels: batch.Column(rows.Labels, max(labels, 1), 0),
		seed: seed}
	base, err := p.predicted(rows)
	if err != nil {
		return nil, err
	}
	all := &Importance{Rows: rows.Samples, Rounds: rounds, AUC: metric.AUC(base, p.labels)}
	if math.IsNaN(all.AUC) || len(features) == 0 {
		return nil, nil
	}
	for _, label := range p.labels {
		all.Positives += class(label)
	}
	p.base = slices.Repeat([][]float32{base}, rounds)
	groups := len(features)
	if groups > fallsMax {
		groups = fallsMax / 2
	}
	for i := range groups {
		group := features[i*len(features)/groups : (i+1)*len(features)/groups]
		if err := p.measure(ctx, all, group); err != nil {
			return nil, err
		}
	}
	for measured := groups; measured+2 <= fallsMax; measured += 2 {
		at := slices.IndexFunc(all.Falls, func(f Fall) bool { return len(f.features) > 1 })
		if at < 0 {
			break
		}
		group := all.Falls[at].features
		all.Falls = slices.Delete(all.Falls, at, at+1)
		for _, half := range [][]Feature{group[:len(group)/2], group[len(group)/2:]} {
			if err := p.measure(ctx, all, half); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// sample returns at most a number of rows in their order. Of each class there are as many, or all of the
// rarer one.
func sample(labels []float32, most int, seed uint64) []int32 {
	var classes [2][]int32
	for row, label := range labels {
		classes[class(label)] = append(classes[class(label)], int32(row))
	}
	rarer := min(len(classes[0]), len(classes[1]), most/2)
	var rows []int32
	for i, of := range classes {
		rng.New(seed, "rows to permute", uint64(i)).Shuffle(len(of),
			func(i, k int) { of[i], of[k] = of[k], of[i] })
		rows = append(rows, of[:min(len(of), most-rarer)]...)
	}
	slices.Sort(rows)
	return rows
}

// class is 1 for a positive label.
func class(label float32) int {
	if label > 0.5 {
		return 1
	}
	return 0
}

// permutation measures falls.
type permutation struct {
	predict func(*batch.Batch) ([]float32, error)
	rows    *batch.Batch
	labels  []float32
	base    [][]float32 // the predictions of the rows as they are, for every round
	seed    uint64
}

// predicted returns predictions of the first label.
func (p *permutation) predicted(rows *batch.Batch) ([]float32, error) {
	all, err := p.predict(rows)
	if err != nil {
		return nil, fmt.Errorf("predicting test rows: %w", err)
	}
	return batch.Column(all, max(len(all)/max(rows.Samples, 1), 1), 0), nil
}

// measure adds the fall of features that are permuted together, and keeps the largest falls first.
func (p *permutation) measure(ctx context.Context, all *Importance, features []Feature) error {
	order := make([]int32, p.rows.Samples)
	var scores [][]float32
	var falls []float64
	for round := range rounds {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for i := range order {
			order[i] = int32(i)
		}
		rng.New(p.seed, "permutation", uint64(round)).Shuffle(len(order),
			func(i, k int) { order[i], order[k] = order[k], order[i] })
		scored, err := p.predicted(permuted(p.rows, features, order))
		if err != nil {
			return err
		}
		scores, falls = append(scores, scored), append(falls, all.AUC-metric.AUC(scored, p.labels))
	}
	f := Fall{features: features}
	for _, one := range features {
		f.Columns = append(f.Columns, one.Name)
	}
	half := float64(1.96 * math.Hypot(metric.AUCRowDeviation(p.base, scores, p.labels, resamples, p.seed),
		spread(falls)/math.Sqrt(rounds)))
	f.Estimate = mean(falls)
	f.Low, f.High = f.Estimate-half, f.Estimate+half
	all.Falls = append(all.Falls, f)
	slices.SortStableFunc(all.Falls, func(a, b Fall) int { return cmp.Compare(b.Estimate, a.Estimate) })
	return nil
}

func mean(values []float64) (m float64) {
	for _, v := range values {
		m += v / float64(len(values))
	}
	return m
}

// spread returns the standard deviation of at least two values.
func spread(values []float64) float64 {
	squares, m := 0.0, mean(values)
	for _, v := range values {
		squares += float64((v - m) * (v - m))
	}
	return math.Sqrt(squares / float64(len(values)-1))
}
