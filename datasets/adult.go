package datasets

import (
	"tandem/algo/job"
	"tandem/datasets/adult"
)

// adultSpec has the columns of Persia's adult-income example: the eight
// categories in its order and five numbers; fnlwgt is left out. The unknown
// value "?" is a category like any other. Labels of the test file end in a dot.
func adultSpec() *job.Table {
	spec := &job.Table{
		Comment:  "|", // the original test file begins with "|1x3 Cross validator"
		Columns:  adult.Columns(),
		Numeric:  []string{"age", "education-num", "capital-gain", "capital-loss", "hours-per-week"},
		Label:    "income",
		Positive: []string{">50K", ">50K."},
		Negative: []string{"<=50K", "<=50K."},
	}
	for _, name := range []string{
		"workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country",
	} {
		spec.Slots = append(spec.Slots, job.IDColumn{Column: name})
	}
	return spec
}
