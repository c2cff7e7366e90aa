package job

// SyntheticCriteo returns columns distributed like those of the Criteo Kaggle click log
// (Display Advertising Challenge 2014), with its positive rate of 0.2562 and its 13 numeric
// columns. The caller sets the numbers of rows and the seed. A blank counts as an id.
//
// Sources: cardinalities from facebookresearch/dlrm, tools/visualize.py, blanks
// included, 33.76 million ids in all; positive rate over the 45,840,617 rows
// from the reczoo/BARS leaderboards. Skew, by column:
//
//   - rank: a slice of 20,000 rows whose ids are frequency ranks over all rows.
//     Zipf is the maximum-likelihood exponent of the law truncated at the
//     cardinality, Top the share of rank 1.
//   - head: the first 10,000 rows of train.txt. Zipf is the least-squares slope
//     of log count on log rank, Top the share of the most frequent value.
//   - tiny: the same rows, but too few ids for a slope. Zipf is the exponent under
//     which the most frequent value has its measured share; Top is 0.
//
// The share of lookups of the top 10, 100, … 10⁶ ids deviates from the measured one by at
// most 0.1 in tables of more than 200,000 ids, and by at most 0.25 in smaller ones, whose
// real tails fall faster than a power law.
//
// The real columns depend on each other (C3, C12, C16 and C21 most). The generated ones do
// not, so they have more distinct row patterns.
func SyntheticCriteo() Synthetic {
	spec := Synthetic{PositiveRate: 0.2562, Numeric: 13}
	for _, c := range []struct {
		name        string
		cardinality int64
		zipf, top   float64
	}{
		{"C1", 1460, 1.81, 0.5005},    // head
		{"C2", 583, 1.15, 0.1235},     // head
		{"C3", 10131227, 0.98, 0.041}, // rank
		{"C4", 2202608, 1.04, 0.056},  // rank
		{"C5", 305, 2.41, 0.6656},     // head
		{"C6", 24, 1.52, 0},           // tiny: 0.4593
		{"C7", 12517, 0.82, 0.005},    // rank
		{"C8", 633, 2.12, 0.5888},     // head
		{"C9", 3, 3.31, 0},            // tiny: 0.8871
		{"C10", 93145, 1.08, 0.260},   // rank
		{"C11", 5683, 0.84, 0.007},    // rank
		{"C12", 8351593, 0.98, 0.041}, // rank
		{"C13", 3194, 0.82, 0.007},    // rank
		{"C14", 27, 2.65, 0.3629},     // head
		{"C15", 14992, 0.94, 0.005},   // rank
		{"C16", 5461306, 1.00, 0.041}, // rank
		{"C17", 10, 1.28, 0},          // tiny: 0.4304
		{"C18", 5652, 1.02, 0.065},    // rank
		{"C19", 2173, 1.08, 0.4496},   // head: the blank
		{"C20", 4, 0.88, 0},           // tiny: 0.4496, the blank
		{"C21", 7046547, 1.00, 0.041}, // rank
		{"C22", 18, 2.90, 0},          // tiny: 0.8182, the blank
		{"C23", 15, 2.03, 0.4515},     // head
		{"C24", 286181, 1.12, 0.077},  // rank
		{"C25", 105, 1.91, 0.4496},    // head: the blank
		{"C26", 142572, 1.24, 0.418},  // rank: the blank
	} {
		spec.Columns = append(spec.Columns, SyntheticColumn{Name: c.name, Cardinality: c.cardinality,
			Exponent: c.zipf, Top: c.top})
	}
	return spec
}
