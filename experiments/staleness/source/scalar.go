package source

import "math"

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
