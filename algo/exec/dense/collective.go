package dense

import (
	"slices"

	"tandem/algo/numeric/collective"
	"tandem/algo/numeric/model"
)

// Collective sums and gathers values over all ranks. Every process calls the same methods in the same order,
// with one slice for each of its ranks, in rank order.
type Collective interface {
	// Sum writes to given[0] the sum over all ranks, along the tree over rank numbers
	// (algo/numeric/collective). The slices of all ranks have equal lengths. Sum overwrites the other slices
	// of given.
	Sum(given [][]float32) error
	// Gather returns the values of all ranks, in rank order: statistics, or up to GatherLeast values of each.
	Gather(given [][]float32) ([]float32, error)
	// Done is closed when a rank is lost, so that the others wait for it in vain; nil: never.
	Done() <-chan struct{}
}

// GatherLeast is the number of values that Collective.Gather takes from a rank of any network: the name under
// which ranks meet on devices.
const GatherLeast = 128

// Summer is a model.Trainer that can sum the gradients of its replicas where they are.
type Summer interface {
	model.Trainer
	// Sums reports whether it does. The replicas then leave their gradients, and expect their sum, on their
	// devices.
	Sums() bool
	// SumBucket sums a bucket of the gradients of all ranks. Given has an element for each rank of this
	// process, in rank order, nil for a rank that contributes nothing. Every process calls it for the same
	// buckets in the same order; c lets the processes meet.
	SumBucket(bucket int32, given []*model.Vector, c Collective) error
}

// Local is the Collective of a run whose ranks are all in this process.
type Local struct{}

// Sum implements Collective.
func (Local) Sum(given [][]float32) error {
	collective.Tree(given)
	return nil
}

// Gather implements Collective.
func (Local) Gather(given [][]float32) ([]float32, error) { return slices.Concat(given...), nil }

// Done implements Collective: no rank is lost alone.
func (Local) Done() <-chan struct{} { return nil }

// bucketOf returns one bucket of every vector given, and zeros in place of nil. With copies, the buckets are
// copies.
func bucketOf(given []*model.Vector, b model.Bucket, copies bool) [][]float32 {
	values := make([][]float32, len(given))
	for i, v := range given {
		switch {
		case v == nil:
			values[i] = make([]float32, b.Hi-b.Lo)
		case copies:
			values[i] = slices.Clone(v.Bucket(b))
		default:
			values[i] = v.Bucket(b)
		}
	}
	return values
}
