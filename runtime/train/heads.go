package train

import (
	"fmt"
	"math"

	"tandem/algo/exec/evaluation"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
)

// Head is how well one label of the test rows is predicted.
type Head struct {
	Label string
	evaluation.Scores
	Probabilities []float32 // predicted, or numbers with squared loss, by test row
}

// Heads measures predictions of test rows by a network with a loss. predictions holds, row by row, one value
// for each of the labels.
func Heads(loss string, predictions []float32, labels []string, test *batch.Batch) []Head {
	var heads []Head
	for i, label := range labels {
		heads = append(heads, Head{label, evaluation.NewScores(loss, predictions, test, i),
			batch.Column(predictions, len(labels), i)})
	}
	return heads
}

// checkLabels refuses test rows that lack positives or negatives of a label, before training begins. A share
// between 0 and 1 has some of both, and a row without weight none. Numbers for squared loss must differ.
func checkLabels(loss string, labels []string, test *batch.Batch) error {
	for i, label := range labels {
		truth := batch.Column(test.Labels, len(labels), i)
		least, most := float32(math.Inf(1)), float32(math.Inf(-1))
		for row, y := range truth {
			if test.Weights == nil || test.Weights[row] > 0 {
				least, most = min(least, y), max(most, y)
			}
		}
		if least < most || loss != model.SquaredLoss && least == most && least > 0 && least < 1 {
			continue
		}
		if len(labels) > 1 {
			return fmt.Errorf("label %s: %w", label, errOneClass)
		}
		return errOneClass
	}
	return nil
}
