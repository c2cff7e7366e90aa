package train

import (
	"fmt"
	"slices"

	"tandem/algo/metric"
	"tandem/algo/numeric/batch"
)

// Head is how well one label of the test rows is predicted.
type Head struct {
	Label         string
	AUC           float64
	LogLoss       float64   // nats
	Probabilities []float32 // predicted, by test row
}

// Heads measures predictions of test rows. probabilities holds, row by row, one value for each of the labels.
func Heads(probabilities []float32, labels []string, test *batch.Batch) []Head {
	var heads []Head
	for i, label := range labels {
		predicted, truth := batch.Column(probabilities, len(labels), i), batch.Column(test.Labels,
			len(labels), i)
		heads = append(heads, Head{label, metric.WeightedAUC(predicted, truth, nil),
			metric.WeightedLogLoss(predicted, truth, nil), predicted})
	}
	return heads
}

// checkLabels refuses test rows that lack positives or negatives of a label, before training begins. A share
// between 0 and 1 has some of both.
func checkLabels(labels []string, test *batch.Batch) error {
	for i, label := range labels {
		truth := batch.Column(test.Labels, len(labels), i)
		if slices.ContainsFunc(truth, func(y float32) bool { return y > 0 }) &&
			slices.ContainsFunc(truth, func(y float32) bool { return y < 1 }) {
			continue
		}
		if len(labels) > 1 {
			return fmt.Errorf("label %s: %w", label, errOneClass)
		}
		return errOneClass
	}
	return nil
}
