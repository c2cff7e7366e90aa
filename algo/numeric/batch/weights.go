package batch

import (
	"fmt"
	"math"
)

// WeightedFactor returns what a sum of rows with weights w is multiplied by, each of an id with a number of
// rows: 1/(rows·Σw) for Mean and 1/√(rows·Σw²) for SqrtScaled, as in TensorFlow's embedding_lookup_sparse.
// With weights of 1 that is Factor.
func (s Scale) WeightedFactor(weights []float32, rows int) float32 {
	if s == Unscaled || len(weights) == 0 {
		return 1
	}
	sum := 0.0
	for _, w := range weights {
		if s == SqrtScaled {
			w64 := float64(w)
			sum += float64(w64 * w64)
		} else {
			sum += float64(w)
		}
	}
	if sum *= float64(rows); s == SqrtScaled {
		sum = math.Sqrt(sum)
	}
	return float32(1 / sum)
}

// CheckWeights returns an error unless the weights of the ids of one sample can be used in a slot: finite
// and, of a Mean, at least 0. Of a Mean or a SqrtScaled sum, one must differ from 0, or there is nothing to
// divide by. Zeros and, of other sums, negative weights are allowed.
func (s *Slot) CheckWeights(weights []float32) error {
	for _, w := range weights {
		switch {
		case math.IsNaN(float64(w)) || math.IsInf(float64(w), 0):
			return fmt.Errorf("the weight %v of an id is not a finite 32-bit number", w)
		case w < 0 && s.Scale == Mean:
			return fmt.Errorf("an id has the weight %v, and a mean needs weights of at least 0", w)
		}
	}
	if factor := s.Scale.WeightedFactor(weights, s.RowsPerID()); math.IsInf(float64(factor), 0) {
		return fmt.Errorf("the weights of the %d ids are 0, or so small that their rows cannot be divided "+
			"by the sum: leave the ids out, or give one another weight", len(weights))
	}
	return nil
}

// CheckWeights returns an error that names the slot and the sample, counted from 0, whose ids have weights
// that Slot.CheckWeights refuses, or a slot whose weights do not fit its ids or which has none. It panics if
// there are fewer columns than slots. Cost: a pass over the weights.
func (s *Schema) CheckWeights(slots []Jagged) error {
	for i := range s.Slots {
		slot, own := &s.Slots[i], &slots[i]
		switch {
		case own.Weights == nil:
			continue
		case !slot.Weighted:
			return fmt.Errorf("slot %s: %d weights, and its ids have none", slot.Name, len(own.Weights))
		case len(own.Weights) != len(own.IDs):
			return fmt.Errorf("slot %s: %d weights of %d ids", slot.Name, len(own.Weights), len(own.IDs))
		}
		for sample := range len(own.Offsets) - 1 {
			if err := slot.CheckWeights(own.SampleWeights(sample)); err != nil {
				return fmt.Errorf("slot %s, sample %d: %w", slot.Name, sample, err)
			}
		}
	}
	return nil
}
