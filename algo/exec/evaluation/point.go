package evaluation

import (
	"tandem/algo/metric"
	"tandem/algo/numeric/batch"
)

// Point is one evaluation, during training or after it: a point of a learning curve.
type Point struct {
	Step    int `json:"step"`    // steps trained
	Samples int `json:"samples"` // trained on in these steps
	// Seconds since training began, real or simulated.
	Seconds float64 `json:"seconds"`
	AUC     float64 `json:"auc"`
	LogLoss float64 `json:"log_loss"` // nats
}

// WithScores returns the point with AUC and log loss of the predictions of the first label of the test rows.
func (p Point) WithScores(probabilities []float32, test *batch.Batch) Point {
	labels := len(test.Labels) / test.Samples
	predicted, truth := batch.Column(probabilities, labels, 0), batch.Column(test.Labels, labels, 0)
	p.AUC = metric.WeightedAUC(predicted, truth, test.Weights)
	p.LogLoss = metric.WeightedLogLoss(predicted, truth, test.Weights)
	return p
}
