package datasets

import (
	"errors"
	"math"

	"tandem/algo/numeric/batch"
)

// generatedRowsCounted is the number of generated rows whose labels are counted.
const generatedRowsCounted = 1 << 20

// LabelMean returns the mean of a label over the training rows: of labels 0 and 1, the share of positive
// rows. Of generated rows, which are drawn independently, only the first 1,048,576 count.
func (d *Dataset) LabelMean(label int) float64 { return d.labelSums(label).mean() }

// LabelDeviation returns the standard deviation of a label over the rows of LabelMean.
func (d *Dataset) LabelDeviation(label int) float64 { return d.labelSums(label).deviation() }

func (d *Dataset) labelSums(label int) labelSums {
	switch rows := d.Rows.(type) {
	case nil:
		return labelSumsOf(d.Train)[label]
	case *fileRows:
		return rows.labels[label]
	}
	sums := make([]labelSums, len(d.Schema.Labels))
	for chunk := range d.TrainChunks() { // generating rows never fails
		addLabels(sums, labelSumsOf(chunk), 1)
		if sums[label].rows >= generatedRowsCounted {
			break
		}
	}
	return sums[label]
}

// labelSums are sums over rows of weights w, and of w·y and w·y² for a label y.
type labelSums struct{ rows, weights, labels, squares float64 }

// labelSumsOf returns the sums of each label of rows.
func labelSumsOf(rows *batch.Batch) []labelSums {
	if rows.Samples == 0 {
		return nil
	}
	sums := make([]labelSums, len(rows.Labels)/rows.Samples)
	for i, label := range rows.Labels {
		s, weight := &sums[i%len(sums)], 1.0
		if rows.Weights != nil {
			weight = float64(rows.Weights[i/len(sums)])
		}
		s.rows++
		s.weights += weight
		s.labels += float64(weight * float64(label))
		s.squares += float64(weight * float64(label) * float64(label))
	}
	return sums
}

// addLabels adds the sums of further rows, times a factor: −1 takes them away.
func addLabels(to, of []labelSums, factor float64) {
	for i, s := range of {
		to[i].rows += float64(factor * s.rows)
		to[i].weights += float64(factor * s.weights)
		to[i].labels += float64(factor * s.labels)
		to[i].squares += float64(factor * s.squares)
	}
}

func (s labelSums) mean() float64 { return s.labels / s.weights }

func (s labelSums) deviation() float64 {
	return math.Sqrt(max(s.squares/s.weights-float64(s.mean()*s.mean()), 0))
}

func (s labelSums) meanWeight() float64 { return s.weights / s.rows }

// checkWeights returns an error if no training row counts.
func checkWeights(sums []labelSums) error {
	if !(sums[0].weights > 0) {
		return errors.New("all training rows have weight 0, so there is nothing to learn")
	}
	return nil
}

// scaleWeights divides the weights of rows, if they have any, by a mean, so that learning rates mean the same
// as without weights.
func scaleWeights(rows *batch.Batch, mean float64) {
	for i, weight := range rows.Weights {
		rows.Weights[i] = float32(float64(weight) / mean)
	}
}
