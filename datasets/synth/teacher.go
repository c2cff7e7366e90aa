package synth

import (
	"math"

	"tandem/algo/job"
	"tandem/algo/rng"
)

// scorer computes the score of the teacher, before scale and bias. It has scratch memory for
// one row.
type scorer struct {
	columns []uint64  // key of the hidden values, by column
	norms   []float64 // 1/√(ids per row), by column
	weights []float64 // norms times job.SyntheticColumn.Weight
	numeric []float64 // u_j

	// Weights times the norms of the sums.
	linear, interaction, cubic, numericWeight float64

	rare          float64        // job.SyntheticTeacher.Rare
	distributions []Distribution // by column
	heads         [][]float64    // factors of shrink for the first ranks, by column

	sum     []float64 // Σ_c v_c of the row, length rank
	squares float64   // Σ_c |v_c|² of the row
	weight  float64   // Σ_c w_c of the row
	vector  []float64 // v_c of the current column
	// Sums of the squares and cubes of the elements of v_c, length rank; unused without cubic.
	squared, cubed []float64
}

// teacherSeed returns the seed of the hidden values.
func teacherSeed(spec job.Synthetic) uint64 {
	if spec.Teacher.Seed != 0 {
		return spec.Teacher.Seed
	}
	return spec.Seed
}

// newScorer returns the scorer of a seed. It divides each sum by the square root of the number
// of its terms, because hidden values have mean 0 and variance 1.
func newScorer(seed uint64, spec job.Synthetic) *scorer {
	columns, numeric, t := len(spec.Columns), spec.Numeric, spec.Teacher
	s := &scorer{
		columns: make([]uint64, columns), norms: make([]float64, columns), weights: make([]float64, columns),
		numeric: make([]float64, numeric),
		rare:    t.Rare,
	}
	s = s.clone(t.Rank)
	var squares float64 // of the weights
	for c := range s.columns {
		weight := spec.Columns[c].LinearWeight()
		squares += float64(weight * weight)
		s.norms[c] = 1 / math.Sqrt(spec.Columns[c].MeanIDs())
		s.weights[c] = weight * s.norms[c]
		s.columns[c] = rng.Key(seed, "synthetic teacher ids", uint64(c))
		if s.rare > 0 {
			s.distributions = append(s.distributions, NewDistribution(spec.Columns[c]))
			s.heads = append(s.heads, nil)
			for rank := range min(headRanks, spec.Columns[c].Cardinality+1) {
				s.heads[c] = append(s.heads[c], s.shrink(c, rank))
			}
		}
	}
	key := rng.Key(seed, "synthetic teacher numbers")
	for j := range s.numeric {
		s.numeric[j] = hidden(key, j)
	}
	s.linear = t.Linear / math.Sqrt(squares)
	if columns > 1 {
		pairs := columns * (columns - 1) / 2
		s.interaction = t.Interaction / math.Sqrt(float64(pairs*t.Rank))
	}
	if columns > 2 {
		triples := columns * (columns - 1) * (columns - 2) / 6
		s.cubic = t.Cubic / math.Sqrt(float64(triples)*float64(t.Rank))
	}
	if numeric > 0 {
		s.numericWeight = t.Numeric / math.Sqrt(float64(numeric))
	}
	return s
}

// clone returns a scorer of hidden vectors of length rank with its own scratch memory.
func (s *scorer) clone(rank int) *scorer {
	c := *s
	c.sum, c.vector = make([]float64, rank), make([]float64, rank)
	c.squared, c.cubed = make([]float64, rank), make([]float64, rank)
	return &c
}

// hidden returns the hidden value i of a key: uniform on [−√3, √3), with mean 0 and variance 1.
func hidden(key uint64, i int) float64 {
	return (float64(2*float64(rng.Unit(key, i))) - 1) * math.Sqrt(3)
}

// headRanks is the number of ranks, with 0, whose factors of shrink are kept.
const headRanks = 1 << 12

// shrink returns the factor of the hidden values of a rank, √(p / (p + rare)).
func (s *scorer) shrink(column int, rank int64) float64 {
	if head := s.heads[column]; rank < int64(len(head)) {
		return head[rank]
	}
	p := s.distributions[column].Probability(rank)
	return math.Sqrt(p / (p + s.rare))
}

// score returns the score of a row, given its ranks by column and its numbers.
//
//	Σ_{c<d} ⟨v_c, v_d⟩ = ½ (|Σ_c v_c|² − Σ_c |v_c|²)
//	Σ_{c<d<e} x_c x_d x_e = ⅙ ((Σ_c x_c)³ − 3 (Σ_c x_c) (Σ_c x_c²) + 2 Σ_c x_c³)
//
// Cost: (rank + 1) hashes per id.
func (s *scorer) score(ranks [][]int64, numbers []float32) float64 {
	clear(s.sum)
	clear(s.squared)
	clear(s.cubed)
	s.squares, s.weight = 0, 0
	for c, ids := range ranks {
		s.add(c, ids)
	}
	pairs := -s.squares
	for _, v := range s.sum {
		pairs += float64(v * v)
	}
	var dense float64
	for j, x := range numbers {
		dense += float64(s.numeric[j] * float64(x))
	}
	score := float64(s.linear*s.weight) + float64(s.interaction*pairs/2) + float64(s.numericWeight*dense)
	if s.cubic != 0 {
		score += float64(s.cubic * s.triples())
	}
	return score
}

// triples returns the sum over three different columns of the products of their elements.
func (s *scorer) triples() float64 {
	var sum float64
	for k, v := range s.sum {
		sum += float64(v*v*v) - float64(3*v*s.squared[k]) + float64(2*s.cubed[k])
	}
	return sum / 6
}

// add adds the ids of a column.
func (s *scorer) add(column int, ranks []int64) {
	weight := 0.0
	clear(s.vector)
	for _, rank := range ranks {
		key := rng.Mix(s.columns[column] + uint64(rank))
		if s.rare > 0 {
			shrink := s.shrink(column, rank&(1<<rankBits-1))
			weight += float64(shrink * hidden(key, 0))
			for k := range s.vector {
				s.vector[k] += float64(shrink * hidden(key, k+1))
			}
			continue
		}
		weight += hidden(key, 0)
		for k := range s.vector {
			s.vector[k] += hidden(key, k+1)
		}
	}
	norm := s.norms[column]
	s.weight += float64(s.weights[column] * weight)
	for k, v := range s.vector {
		v = float64(norm * v)
		s.sum[k] += v
		s.squares += float64(v * v)
		if s.cubic != 0 {
			s.squared[k] += float64(v * v)
			s.cubed[k] += float64(v * v * v)
		}
	}
}

// sigmoid returns 1 / (1 + e^−x).
func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// calibration maps scores to probabilities.
type calibration struct {
	mean, slope, bias float64
}

// calibrate returns the calibration under which the logits of the scores have standard deviation
// scale, and their probabilities have mean rate.
func calibrate(scores []float64, scale, rate float64) calibration {
	var c calibration
	n := float64(len(scores))
	for _, score := range scores {
		c.mean += score / n
	}
	var variance, lowest, highest float64
	for _, score := range scores {
		d := score - c.mean
		variance += float64(d*d) / n
		lowest, highest = min(lowest, d), max(highest, d)
	}
	if variance > 0 { // otherwise all scores are equal and the bias alone decides
		c.slope = scale / math.Sqrt(variance)
	}
	// The mean probability grows with the bias: bisect between the bias that gives the
	// highest score the rate and the bias that gives it to the lowest.
	logit := math.Log(rate / (1 - rate))
	lo, hi := logit-c.slope*highest, logit-c.slope*lowest
	for hi-lo > 1e-6 {
		c.bias = (lo + hi) / 2
		var mean float64
		for _, score := range scores {
			mean += c.probability(score) / n
		}
		if mean < rate {
			lo = c.bias
		} else {
			hi = c.bias
		}
	}
	c.bias = (lo + hi) / 2
	return c
}

func (c calibration) probability(score float64) float64 {
	return sigmoid(c.standard(score) + c.bias)
}
