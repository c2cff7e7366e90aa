package predictor

import (
	"math"

	"tandem/algo/numeric/batch"
	"tandem/experiments/internal/report"
)

// facts are what scalars are computed from. None needs a training with late rows.
type facts struct {
	shares [][]float64 // of the samples with an id, by column
	batch  float64     // samples of a step
	steps  float64     // of the training
	tau    float64
	rate   float64 // of rows
}

// count returns the shares of the samples that contain each id, by column.
func count(rows *batch.Batch) (shares [][]float64) {
	for _, slot := range rows.Slots {
		shares = append(shares, report.Shares(slot, rows.Samples))
	}
	return shares
}

// sum adds f over all ids.
func (f *facts) sum(of func(q float64) float64) (total float64) {
	for _, column := range f.shares {
		for _, q := range column {
			total += of(q)
		}
	}
	return total
}

// top returns the largest share of a column.
func top(column []float64) (most float64) {
	for _, q := range column {
		most = max(most, q)
	}
	return most
}

// inBatch returns the probability that a batch contains an id.
func (f *facts) inBatch(q float64) float64 { return 1 - math.Pow(1-q, f.batch) }

// squares returns Σq².
func (f *facts) squares() float64 { return f.sum(func(q float64) float64 { return q * q }) }

// heads returns the sum over columns of the share of the most frequent id.
func (f *facts) heads() (sum float64) {
	for _, column := range f.shares {
		sum += top(column)
	}
	return sum
}

// scalar is a number that may predict the loss.
type scalar struct {
	Name  string
	Words string
	value func(f *facts) float64
}

// hotShare is the share of rows from which an id counts as hot.
const hotShare = 0.1

// scalars returns all candidates. The last is the null model.
func scalars() []scalar {
	return []scalar{
		{"max q", "the share of rows with the most frequent id of any column", func(f *facts) (most float64) {
			for _, column := range f.shares {
				most = max(most, top(column))
			}
			return most
		}},
		{"hot columns", "columns with an id in at least a tenth of the rows", func(f *facts) (n float64) {
			for _, column := range f.shares {
				if top(column) >= hotShare {
					n++
				}
			}
			return n
		}},
		{"heads", "sum over columns of the share of the most frequent id", (*facts).heads},
		{"Σq²", "sum over ids of the squared share: common ids of two samples", (*facts).squares},
		{"missed updates", "updates of a row while its gradient is late, mean", missed},
		{"τ·Σq²", "delay × common ids",
			func(f *facts) float64 { return f.tau * f.squares() }},
		{"τ·Σq²·rate", "delay × common ids × rate of rows",
			func(f *facts) float64 { return f.tau * f.squares() * f.rate }},
		{"τ·Σq²÷steps", "delay × common ids, relative to the length of the run",
			func(f *facts) float64 { return f.tau * f.squares() / f.steps }},
		{"τ·Σq²·rate÷steps", "delay × common ids × rate of rows, relative to the length of the run",
			func(f *facts) float64 { return f.tau * f.squares() * f.rate / f.steps }},
		{"τ·heads÷steps", "delay × heads, relative to the length of the run",
			func(f *facts) float64 { return f.tau * f.heads() / f.steps }},
		{"√τ·heads÷steps", "root of the delay × heads, relative to the length of the run",
			func(f *facts) float64 { return math.Sqrt(f.tau) * f.heads() / f.steps }},
		{"τ÷steps", "delay relative to the length of the run: the lag", func(f *facts) float64 {
			return f.tau / f.steps
		}},
		{"τ", "the delay alone: the null model", func(f *facts) float64 { return f.tau }},
	}
}

// missed returns the mean over row gradients of the steps with the row among the next τ.
func missed(f *facts) float64 {
	gradients := f.sum(f.inBatch)
	updates := f.sum(func(q float64) float64 { return f.inBatch(q) * f.inBatch(q) })
	return f.tau * updates / gradients
}
