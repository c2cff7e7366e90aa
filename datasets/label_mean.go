package datasets

import "tandem/algo/numeric/batch"

// generatedRowsCounted is the number of generated rows whose labels are counted.
const generatedRowsCounted = 1 << 20

// LabelMean returns the mean of a label over the training rows: of labels 0 and 1, the share of positive
// rows. Of generated rows, which are drawn independently, only the first 1,048,576 count.
func (d *Dataset) LabelMean(label int) float64 {
	switch rows := d.Rows.(type) {
	case nil:
		return labelSumsOf(d.Train)[label].mean()
	case *fileRows:
		return rows.labels[label].mean()
	}
	sums := make([]labelSums, len(d.Schema.Labels))
	for chunk := range d.TrainChunks() { // generating rows never fails
		addLabels(sums, labelSumsOf(chunk), 1)
		if sums[label].rows >= generatedRowsCounted {
			break
		}
	}
	return sums[label].mean()
}

// labelSums are sums over rows of a label.
type labelSums struct{ rows, sum float64 }

// labelSumsOf returns the sums of each label of rows.
func labelSumsOf(rows *batch.Batch) []labelSums {
	if rows.Samples == 0 {
		return nil
	}
	sums := make([]labelSums, len(rows.Labels)/rows.Samples)
	for i, label := range rows.Labels {
		s := &sums[i%len(sums)]
		s.rows++
		s.sum += float64(label)
	}
	return sums
}

// addLabels adds the sums of further rows, times a factor: −1 takes them away.
func addLabels(to, of []labelSums, factor float64) {
	for i, s := range of {
		to[i].rows += float64(factor * s.rows)
		to[i].sum += float64(factor * s.sum)
	}
}

func (s labelSums) mean() float64 { return s.sum / s.rows }
