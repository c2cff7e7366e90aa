// Package adult embeds the two files of the UCI Adult census-income data, so that a first
// training run needs no download.
//
// Source: Becker and Kohavi, UCI Machine Learning Repository, 1996; CC BY 4.0,
// see NOTICE.
package adult

import _ "embed"

//go:embed adult.data.gz
var train string

//go:embed adult.test.gz
var test string

// Citation names the data and the licence in one line.
const Citation = "UCI Adult, Becker & Kohavi 1996, CC BY 4.0"

// Train returns the gzip-compressed training file: 32,561 rows of 15
// comma-separated fields without a header.
func Train() string { return train }

// Test returns the gzip-compressed test file: 16,281 rows with the columns of Train. Their labels
// end in a dot.
func Test() string { return test }

// Columns returns the names of the fields of both files, in file order.
func Columns() []string {
	return []string{
		"age", "workclass", "fnlwgt", "education", "education-num",
		"marital-status", "occupation", "relationship", "race", "sex",
		"capital-gain", "capital-loss", "hours-per-week", "native-country",
		"income",
	}
}
