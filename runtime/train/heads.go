package train

import (
	"fmt"

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
		heads = append(heads, Head{label, metric.WeightedAUC(predicted, truth, test.Weights),
			metric.WeightedLogLoss(predicted, truth, test.Weights), predicted})
	}
	return heads
}

// checkLabels refuses test rows that lack positives or negatives of a label, before training begins. A share
// between 0 and 1 has some of both, and a row without weight none.
func checkLabels(labels []string, test *batch.Batch) error {
	for i, label := range labels {
		truth := batch.Column(test.Labels, len(labels), i)
		positive, negative := false, false
		for row, y := range truth {
			if test.Weights == nil || test.Weights[row] > 0 {
				positive, negative = positive || y > 0, negative || y < 1
			}
		}
		if positive && negative {
			continue
		}
		if len(labels) > 1 {
			return fmt.Errorf("label %s: %w", label, errOneClass)
		}
		return errOneClass
	}
	return nil
}
