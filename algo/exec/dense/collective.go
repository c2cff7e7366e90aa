package dense

import (
	"slices"

	"tandem/algo/numeric/collective"
	"tandem/algo/numeric/model"
)

// Collective is what ranks compute together. Every process calls the same methods in the same order, with what
// each of its ranks gives, in the order of their numbers.
type Collective interface {
	// Sum leaves in given[0] the sum over all ranks, along the tree over rank numbers (algo/numeric/collective). All ranks
	// give as many values. The others of given are scratch afterwards.
	Sum(given [][]float32) error
	// Gather returns the values of all ranks, in rank order.
	Gather(given [][]float32) ([]float32, error)
}

// together is the Collective of ranks that are all in this process.
type Local struct{}

// Sum implements Collective.
func (Local) Sum(given [][]float32) error {
	collective.Tree(given)
	return nil
}

// Gather implements Collective.
func (Local) Gather(given [][]float32) ([]float32, error) { return slices.Concat(given...), nil }

// bucketOf returns a bucket of what every rank here has given, zeros for nothing. Copies leave what was given as
// it is.
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
