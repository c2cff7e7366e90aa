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
	// Gather returns the values of all ranks, in rank order.
	Gather(given [][]float32) ([]float32, error)
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
