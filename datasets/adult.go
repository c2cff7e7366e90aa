package datasets

import (
	"tandem/algo/job"
	"tandem/datasets/internal/adult"
)

// adultColumns describes the columns of Persia's adult-income example: its eight categories,
// in its order, and five numbers, without fnlwgt. The unknown value "?" is a category like
// any other. Labels of the test file end in a dot.
func adultColumns() *job.Table {
	columns := &job.Table{
		Comment:  "|", // the original test file begins with "|1x3 Cross validator"
		Columns:  adult.Columns(),
		Numeric:  []string{"age", "education-num", "capital-gain", "capital-loss", "hours-per-week"},
		Label:    "income",
		Positive: []string{">50K", ">50K."},
		Negative: []string{"<=50K", "<=50K."},
	}
	for _, name := range []string{
		"workclass", "education", "marital-status", "occupation", "relationship", "race", "sex",
		"native-country",
	} {
		columns.Slots = append(columns.Slots, job.IDColumn{Column: name})
	}
	return columns
}
