// Package batch holds the samples that roles train on: jagged id features,
// dense features and labels of a batch, how a batch is cut into the parts of
// the ranks, and the rule by which an id becomes a sign.
//
// A sign is the 64-bit key of an embedding row: a slot's index prefix in the
// upper bits, the id within the slot in the lower ones.
package batch

import (
	"math"
	"slices"
)

// Pooling selects how the rows of one sample's ids in a slot become model input.
type Pooling uint8

const (
	// Sum adds the rows: one vector of Dim values a sample.
	Sum Pooling = iota
	// Raw keeps up to FixedSize rows apart, each followed by one mask value
	// (1 for a row, 0 for padding): FixedSize × (Dim+1) values a sample.
	Raw
	// Max takes the largest of the rows' values, value by value: Dim values a sample, zeros without an id.
	// The gradient of a value goes to the row that has it, to the first of several; the other rows get zeros.
	Max
)

// Scale selects what the sum of n rows, and its gradient on the way back, is multiplied by.
type Scale uint8

const (
	// Unscaled leaves a sum as it is.
	Unscaled Scale = iota
	// SqrtScaled divides by √n, which keeps the variance of independent rows that of one.
	SqrtScaled
	// Mean divides by n.
	Mean
)

// Factor returns what a sum of n rows is multiplied by: 1 for up to one row.
func (s Scale) Factor(n int) float32 {
	switch {
	case n < 2 || s == Unscaled:
		return 1
	case s == SqrtScaled:
		return float32(1 / math.Sqrt(float64(n)))
	}
	return float32(1 / float64(n))
}

// Slot describes one id feature.
type Slot struct {
	Name string
	Dim  int // length of an embedding row; ≥ 1
	// Class is the number of the settings of its rows, such as their optimizer: slots of one Dim and one
	// Class have their rows in one table of a PS. ≥ 0.
	Class   int
	Pooling Pooling
	// FixedSize is the number of ids that a Raw slot keeps of a sample; further
	// ids are dropped, missing ones padded. Ignored unless Raw.
	FixedSize int
	// Group names the feature group whose rows the slot uses: an id names the same
	// rows in every slot of a group. Empty: rows of its own.
	Group string
	// HashStack makes every id the sum of several rows of a small table; the zero
	// value gives every id one row.
	HashStack HashStack
	// Scale is of the sum over all rows of a sample's ids (Sum), or that over the
	// rows of one id (Raw), which differs from the row only under a hash-stack. Unscaled for Max.
	Scale Scale
	// Weighted says that ids have weights: see Jagged. Of a Sum slot alone.
	Weighted bool
}

// CanBeHot reports whether ranks can have rows of the slot: whether its bags are sums without weights.
func (s Slot) CanBeHot() bool { return s.Pooling == Sum && !s.Weighted }

// AddsRows reports whether a bag of the slot is the sum of one row for each id, as it is, so that it is also
// the sum of what two places make of some of the ids each.
func (s Slot) AddsRows() bool { return s.CanBeHot() && s.Scale == Unscaled && s.RowsPerID() == 1 }

// RowsPerID returns the number of rows that one id is the sum of.
func (s Slot) RowsPerID() int { return max(s.HashStack.Rounds, 1) }

// Width returns the number of model inputs that the slot gives a sample.
func (s Slot) Width() int {
	if s.Pooling == Raw {
		return s.FixedSize * (s.Dim + 1)
	}
	return s.Dim
}

// Winners returns the number of its pooled values of a sample that are maxima.
func (s Slot) Winners() int {
	if s.Pooling == Max {
		return s.Dim
	}
	return 0
}

// Schema describes the columns of every batch of one data set.
type Schema struct {
	Slots  []Slot
	Dense  []string // names of the numeric features
	Labels []string // names of the labels, at least one
	Weight string   // name of the column of weights; empty: every sample counts 1
	// PrefixBits is the number of upper bits of a sign that name the feature
	// group; 1 to 32. Groups count from 1 in the order of their first slots, so at
	// most 2^PrefixBits − 1 groups fit.
	PrefixBits int
}

// EmbeddingWidth returns the number of pooled embedding values of a sample.
func (s *Schema) EmbeddingWidth() int {
	w := 0
	for _, slot := range s.Slots {
		w += slot.Width()
	}
	return w
}

// Columns returns the places of the pooled embedding values of slots, given by their numbers in ascending
// order, among those of a sample.
func (s *Schema) Columns(slots []int) (columns []int32) {
	first := 0
	for i, slot := range s.Slots {
		if slices.Contains(slots, i) {
			for column := range slot.Width() {
				columns = append(columns, int32(first+column))
			}
		}
		first += slot.Width()
	}
	return columns
}

// Winners returns the number of pooled values of a sample that are maxima: those of Max slots.
func (s *Schema) Winners() int {
	n := 0
	for _, slot := range s.Slots {
		n += slot.Winners()
	}
	return n
}

// Jagged holds the ids of one slot for every sample of a batch: those of
// sample i are IDs[Offsets[i]:Offsets[i+1]], possibly none.
type Jagged struct {
	Offsets []int32 // length Samples+1, non-decreasing, Offsets[0] = 0
	IDs     []uint64
	// Weights are what the row of each id is multiplied by before it is added, in a slot that is Weighted.
	// Nil: all are 1.
	Weights []float32
}

// SampleIDs returns the ids of sample i. The result aliases j.
func (j Jagged) SampleIDs(i int) []uint64 { return j.IDs[j.Offsets[i]:j.Offsets[i+1]] }

// SampleWeights returns the weights of the ids of sample i, nil if all are 1. The result aliases j.
func (j Jagged) SampleWeights(i int) []float32 {
	if j.Weights == nil {
		return nil
	}
	return j.Weights[j.Offsets[i]:j.Offsets[i+1]]
}

// Batch is a number of samples, column by column. A batch is immutable once
// it has been handed to a role.
type Batch struct {
	Samples int
	Slots   []Jagged  // one per Schema.Slots
	Dense   []float32 // Samples × len(Schema.Dense), row-major
	Labels  []float32 // Samples × len(Schema.Labels), row-major
	// Weights are what the samples count in losses and metrics, at least 0; nil: every sample counts 1.
	Weights []float32
}

// Source gives the batches of a training run by step number, any number of
// times and in any order: reading a step again gives the same samples, which
// is what lets a data loader resend a batch that a crashed role lost.
type Source interface {
	// Schema describes every batch.
	Schema() *Schema
	// Steps returns the number of global batches of the whole run.
	Steps() int
	// Samples returns the true sample count of a step, at least 1; only the
	// last step of an epoch may fall short of the global batch size.
	Samples(step int) int
	// Read returns the global batch of a step.
	Read(step int) (*Batch, error)
}
