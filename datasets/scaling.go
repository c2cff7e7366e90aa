package datasets

import (
	"math"

	"tandem/algo/numeric/batch"
	"tandem/internal/parallel"
)

// measureScaling returns the scaling of each column of the dense features of a batch, by two
// passes in float64. Each column is summed in the order of the rows. Missing numbers, NaN, do not count.
func measureScaling(b *batch.Batch, columns int) []batch.Scaling {
	scaling := make([]batch.Scaling, columns)
	sums, counts := make([]float64, columns), make([]float64, columns)
	eachRow(b.Dense, columns, func(row []float32) {
		for c, value := range row {
			if value == value {
				sums[c] += float64(value)
				counts[c]++
			}
		}
	})
	for c := range scaling {
		scaling[c].Mean, sums[c] = sums[c]/max(counts[c], 1), 0
	}
	eachRow(b.Dense, columns, func(row []float32) {
		for c, value := range row {
			if deviation := float64(value) - scaling[c].Mean; value == value {
				sums[c] += float64(deviation * deviation)
			}
		}
	})
	for c := range scaling {
		scaling[c].Std = math.Sqrt(sums[c] / max(counts[c], 1))
		if scaling[c].Std == 0 {
			scaling[c].Std = 1
		}
	}
	return scaling
}

// standardise applies the scaling to a batch in place.
func standardise(b *batch.Batch, scaling []batch.Scaling) {
	const rowsPerTask = 1 << 14
	columns := len(scaling)
	parallel.ForEach(parallel.Cores(), (b.Samples+rowsPerTask-1)/rowsPerTask, func(i int) {
		eachRow(b.Dense[i*rowsPerTask*columns:min((i+1)*rowsPerTask, b.Samples)*columns], columns,
			func(row []float32) {
				for c, value := range row {
					row[c] = standardised(value, scaling[c])
				}
			})
	})
}

// standardised applies a scaling to a number: the mean is 0, and so is a missing number.
func standardised(value float32, s batch.Scaling) float32 {
	if value != value {
		return 0
	}
	return float32((float64(value) - s.Mean) / s.Std)
}

// eachRow calls do for every row of a row-major matrix.
func eachRow(values []float32, columns int, do func(row []float32)) {
	for at := 0; at+columns <= len(values) && columns > 0; at += columns {
		do(values[at : at+columns])
	}
}
