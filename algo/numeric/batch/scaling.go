package batch

// Scaling standardises a numeric column: (x − Mean) / Std. A missing number, which is NaN before, becomes 0,
// the mean.
type Scaling struct {
	Mean float64 `json:"mean"`
	// Std is the population standard deviation of the training rows. It is 1 for a column that is constant
	// there, whose values become 0.
	Std float64 `json:"std"`
	// Values are the numbers of a column that is in no file, by the ids of another column: see
	// job.Data.Means. It is empty for a column of a file.
	Values IDValues `json:"values,omitempty"`
}
