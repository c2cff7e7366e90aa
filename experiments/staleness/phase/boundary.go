package phase

import (
	"context"
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/evaluation"
	"tandem/algo/exec/reference"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/opt"
	"tandem/datasets"
	"tandem/experiments/internal/tune"
	"tandem/experiments/staleness/theory/stability"
	"tandem/internal/parallel"
)

// boundary is the predicted end of stability of SGD at a rate: the largest delay at which the rows of the
// most frequent ids converge. Nothing with late rows goes into it.
type boundary struct {
	Alpha    float64 `json:"alpha"`
	Multiple float64 `json:"rate_multiple"`
	// Curvature is the largest eigenvalue of q·h of the rows together, measured after fresh training: mean
	// over seeds.
	Curvature float64 `json:"curvature"`
	// Product is rate × Curvature, and Delay the largest stable delay in steps; −1 if none is.
	Product float64 `json:"product"`
	Delay   int     `json:"delay"`
}

// delayMost is the longest delay that is looked for.
const delayMost = 10_000

// largestStable returns the largest delay whose boundary is above a product η·q·h, −1 if none is.
func largestStable(product float64) int {
	for d := range delayMost {
		if stability.Boundary(d) <= product {
			return d - 1
		}
	}
	return delayMost
}

// predictBoundaries predicts the boundary of SGD at every α and rate, if the plan has SGD.
func (p *plan) predictBoundaries(ctx context.Context, r *result, b backend.Backend) ([]boundary, error) {
	var list []boundary
	var rates []tune.Rates
	for _, multiple := range p.Multiples {
		alphas, _ := p.at(multiple)
		for _, alpha := range alphas {
			if c := r.choice(opt.SGD, alpha); c != nil {
				list = append(list, boundary{Alpha: alpha, Multiple: multiple})
				rates = append(rates, tune.Rates{Rows: c.Rates.Rows * multiple, Dense: c.Rates.Dense})
			}
		}
	}
	seeds := min(p.Seeds, p.BoundarySeeds)
	sums, errs := make([]float64, len(list)*seeds), make([]error, len(list)*seeds)
	parallel.ForEach(parallel.Cores(), len(sums), func(i int) {
		if errs[i] = ctx.Err(); errs[i] == nil {
			sums[i], errs[i] = p.curvature(list[i/seeds].Alpha, rates[i/seeds], p.Seed+uint64(i%seeds), b)
		}
	})
	for i, v := range sums {
		list[i/seeds].Curvature += v / float64(seeds)
	}
	for i := range list {
		list[i].Product = rates[i].Rows * list[i].Curvature
		list[i].Delay = largestStable(list[i].Product)
	}
	return list, errors.Join(errs...)
}

// curvature trains with SGD and fresh rows, and returns the largest eigenvalue of the Gauss–Newton matrix of
// the rows of the most frequent id of every column:
//
//	mean over samples of p·(1−p)·g·gᵀ
//
// g is the gradient of the logit in the rows that the sample contains, by differences, and 0 elsewhere. The
// mean is over all samples, so the frequency q is part of it.
func (p *plan) curvature(alpha float64, rates tune.Rates, seed uint64, b backend.Backend) (float64, error) {
	j := p.job(opt.SGD, alpha, 0, rates, seed)
	data, err := datasets.Open(j.Data, "")
	if err != nil {
		return 0, err
	}
	source, err := datasets.TrainingSource(data, &j)
	if err != nil {
		return 0, err
	}
	q, err := reference.NewSequential(j, source, b)
	if err != nil {
		return 0, err
	}
	for step := range source.Steps() {
		if err := q.Step(step); errors.Is(err, reference.ErrNonFinite) {
			return math.Inf(1), nil // it diverges without a delay
		} else if err != nil {
			return 0, err
		}
	}
	rows := batch.Slice(data.Test, 0, min(data.Test.Samples, curvatureRows))
	return gaussNewton(q, q.NewTestSet(rows), topSigns(&data.Schema, data.Test), j.Model.Dim())
}

// curvatureRows is the number of samples of the mean. An eigenvalue needs few.
const curvatureRows = 4096

// topSigns returns the signs of the most frequent id of every slot.
func topSigns(schema *batch.Schema, rows *batch.Batch) []uint64 {
	signs := make([]uint64, len(rows.Slots))
	for s, slot := range rows.Slots {
		counts, most := map[uint64]int{}, 0
		for _, id := range slot.IDs {
			if counts[id]++; counts[id] > most {
				most = counts[id]
				signs[s] = schema.Signer(s).Sign(id, 0)
			}
		}
	}
	return signs
}

// predictor predicts rows from a model, as evaluation.TestSet does.
type predictor interface {
	Evaluate(s evaluation.State) ([]float32, error)
}

// gaussNewton returns the largest eigenvalue of the matrix in the rows of some signs.
func gaussNewton(model evaluation.State, rows predictor, signs []uint64, dim int) (float64, error) {
	const difference = 0.01
	n := len(signs) * dim
	gradients := make([][]float64, n) // by value of the rows, then by sample
	var middle []float32
	for k := range gradients {
		var ends [2][]float32
		for side := range ends {
			change := shifted{State: model, sign: signs[k/dim], value: k % dim, by: difference}
			if side == 0 {
				change.by = -difference
			}
			var err error
			if ends[side], err = rows.Evaluate(change); err != nil {
				return 0, err
			}
		}
		middle = ends[0] // p(1−p) hardly changes over the difference
		gradients[k] = make([]float64, len(middle))
		for i := range middle {
			gradients[k][i] = (logit(ends[1][i]) - logit(ends[0][i])) / (2 * difference)
		}
	}
	matrix := mat.NewSymDense(n, nil)
	for a := range n {
		for c := a; c < n; c++ {
			sum := 0.0
			for i, p := range middle {
				sum += float64(p) * (1 - float64(p)) * gradients[a][i] * gradients[c][i]
			}
			matrix.SetSym(a, c, sum/float64(len(middle)))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(matrix, false) {
		return math.Inf(1), nil
	}
	values := eigen.Values(nil)
	return values[n-1], nil
}

// logit returns the logit of a probability, away from its ends.
func logit(p float32) float64 {
	const end = 1e-6
	v := min(max(float64(p), end), 1-end)
	return math.Log(v / (1 - v))
}

// shifted is a model with one value of one row changed.
type shifted struct {
	evaluation.State
	sign  uint64
	value int
	by    float32
}

// ReadRows implements evaluation.State.
func (s shifted) ReadRows(server int, signs []uint64, dst []float32) error {
	if err := s.State.ReadRows(server, signs, dst); err != nil {
		return err
	}
	dim := len(dst) / len(signs)
	for i, sign := range signs {
		if sign == s.sign {
			dst[i*dim+s.value] += s.by
		}
	}
	return nil
}
