package datasets

import (
	"math"

	"tandem/algo/batch"
)

// Scaling standardises a numeric column: (x − Mean) / Std.
type Scaling struct {
	Mean float64
	// Std is the population standard deviation, or 1 for a column that is
	// constant in the training rows, which so becomes 0 there.
	Std float64
}

// measureScaling returns the scaling of each of the columns of a batch's dense
// features, by two passes in float64.
func measureScaling(b *batch.Batch, columns int) []Scaling {
	scaling := make([]Scaling, columns)
	for i, value := range b.Dense {
		scaling[i%columns].Mean += float64(value)
	}
	for c := range scaling {
		scaling[c].Mean /= float64(b.Samples)
	}
	for i, value := range b.Dense {
		deviation := float64(value) - scaling[i%columns].Mean
		scaling[i%columns].Std += float64(deviation * deviation)
	}
	for c := range scaling {
		scaling[c].Std = math.Sqrt(scaling[c].Std / float64(b.Samples))
		if scaling[c].Std == 0 {
			scaling[c].Std = 1
		}
	}
	return scaling
}

// standardise applies the scaling to a batch in place.
func standardise(b *batch.Batch, scaling []Scaling) {
	for i, value := range b.Dense {
		s := scaling[i%len(scaling)]
		b.Dense[i] = float32((float64(value) - s.Mean) / s.Std)
	}
}
