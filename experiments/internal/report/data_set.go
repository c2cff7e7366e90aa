package report

import (
	"fmt"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/experiments/internal/judge"
)

// DataSet is the source of the rows of an experiment: generated or real.
type DataSet struct {
	Name string `yaml:"name"`
	// Alpha is the share of rows that contain the most frequent id, for generated data; 0 for real data.
	Alpha float64  `yaml:"alpha,omitempty"`
	Data  job.Data `yaml:"source"`
	// obtain says where real data come from; empty for data that need no file.
	obtain string
}

// Generated returns a data set with six id columns. In each, the most frequent id is in the share α of the
// rows; the other ids follow a Zipf distribution. So α bounds the frequency of every id, as in the analysis
// in Persia's paper.
func Generated(alpha float64, trainRows, testRows int) DataSet {
	spec := job.Synthetic{TrainRows: trainRows, TestRows: testRows, Alpha: alpha, Numeric: 4}
	for i, cardinality := range []int64{100_000, 30_000, 10_000, 3_000, 1_000, 300} {
		name := fmt.Sprintf("c%d", i+1)
		spec.Columns = append(spec.Columns,
			job.SyntheticColumn{Name: name, Cardinality: cardinality, Exponent: 1.05})
		spec.AlphaColumns = append(spec.AlphaColumns, name)
	}
	return DataSet{
		Name: fmt.Sprintf("α = %g", alpha), Alpha: alpha,
		Data: job.Data{Kind: job.KindSynthetic, Synthetic: &spec},
	}
}

// Like returns a data set of a preset of generated data, such as criteo: columns as published of a log, and
// labels from a hidden model.
func Like(preset string, trainRows, testRows int) DataSet {
	spec := job.Synthetic{Preset: preset, TrainRows: trainRows, TestRows: testRows}.Resolve()
	return DataSet{Name: preset + "-like", Data: job.Data{Kind: job.KindSynthetic, Synthetic: &spec}}
}

// WithSeed returns the data for one seed. The rows and the teacher of generated data depend on the seed; real
// data are the same for all seeds.
func (d DataSet) WithSeed(seed uint64) job.Data {
	config := d.Data
	if config.Synthetic != nil {
		spec := *config.Synthetic
		spec.Seed = seed
		config.Synthetic = &spec
	}
	return config
}

// Shares returns the shares of the samples that contain each id of a slot, in the order in which the ids
// appear. An id that a sample repeats counts once.
func Shares(slot batch.Jagged, samples int) []float64 {
	at, last := map[uint64]int{}, []int{}
	var counts []float64
	for i := range samples {
		for _, id := range slot.SampleIDs(i) {
			k, known := at[id]
			if !known {
				k = len(counts)
				at[id], counts, last = k, append(counts, 0), append(last, -1)
			}
			if last[k] != i {
				last[k] = i
				counts[k]++
			}
		}
	}
	for k := range counts {
		counts[k] /= float64(samples)
	}
	return counts
}

// Oracle returns the scores, by seed from a first one, of the probabilities that the labels of the test rows
// were drawn with; no model exceeds them. It returns none for real data, where they are not known.
func (d DataSet) Oracle(first uint64, seeds int) (q judge.Quality, err error) {
	if d.Data.Synthetic == nil {
		return q, nil
	}
	for i := range seeds {
		data, err := datasets.Open(d.WithSeed(first+uint64(i)), "")
		if err != nil {
			return q, err
		}
		scores := make([]float32, len(data.TestProbability))
		for row, p := range data.TestProbability {
			scores[row] = float32(p)
		}
		q.AUC = append(q.AUC, metric.AUC(scores, data.Test.Labels))
		q.LogLoss = append(q.LogLoss, metric.LogLoss(scores, data.Test.Labels))
	}
	return q, nil
}
