package report

import (
	"fmt"

	"tandem/algo/job"
)

// DataSet is a law that rows come from.
type DataSet struct {
	Name string `yaml:"name"`
	// Alpha is the share of rows that hold the most frequent id, for generated
	// data; 0 for real data.
	Alpha float64  `yaml:"alpha,omitempty"`
	Data  job.Data `yaml:"source"`
}

// Generated is a world of six id columns in each of which the most frequent id
// is in the share α of rows; the others follow Zipf's law. So α bounds the
// frequency of every id, as in the analysis of Persia's paper.
func Generated(alpha float64, trainRows, testRows int) DataSet {
	spec := job.Synthetic{TrainRows: trainRows, TestRows: testRows, Alpha: alpha, Numeric: 4}
	for i, cardinality := range []int64{100_000, 30_000, 10_000, 3_000, 1_000, 300} {
		name := fmt.Sprintf("c%d", i+1)
		spec.Columns = append(spec.Columns, job.SyntheticColumn{Name: name, Cardinality: cardinality, Exponent: 1.05})
		spec.AlphaColumns = append(spec.AlphaColumns, name)
	}
	return DataSet{
		Name: fmt.Sprintf("α = %g", alpha), Alpha: alpha,
		Data: job.Data{Kind: job.KindSynthetic, Synthetic: &spec},
	}
}

// AdultIncome is the data set that is part of this module.
func AdultIncome() DataSet {
	return DataSet{Name: "adult-income", Data: job.Data{Kind: job.KindAdultIncome}}
}

// WithSeed returns the data of one seed: of a generator rows and teacher are
// drawn anew, real data stay as they are.
func (w DataSet) WithSeed(seed uint64) job.Data {
	config := w.Data
	if config.Synthetic != nil {
		spec := *config.Synthetic
		spec.Seed = seed
		config.Synthetic = &spec
	}
	return config
}
