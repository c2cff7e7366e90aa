// Package synth generates data like click logs, for which the best reachable AUC and log loss
// are known.
//
// The ids of a column follow a bounded Zipf distribution, or a table of the coverage of their
// most frequent ids. Columns are independent unless they are tied through one hidden id; blanks
// may be tied as well. The popularity of ids may drift over the rows. Labels come from a teacher,
// a hidden factorization machine (Rendle, ICDM 2010) over ids and numbers:
//
//	score = a·Σ_c w_c + b·Σ_{c<d} ⟨v_c, v_d⟩ + e·Σ_j u_j x_j
//	p     = sigmoid(scale · (score − mean) / deviation + bias)
//	label ~ Bernoulli(p)
//
// where w and v of a column are sums over the ids of a row, divided by the square root of their
// mean number. The hidden values of an id are hashes of (seed, column, rank), so a column of
// 10⁹ ids takes no memory. Mean, deviation and bias come from a pilot sample of the same
// distribution. They depend on the seed but not on the number of rows, so the first rows of a
// larger data set are those of a smaller one.
//
// The same job.Synthetic gives the same bits on one architecture; others can round exp and log
// differently.
//
// Package similar does the reverse: it returns the description whose rows resemble a real data set.
//
// math/rand/v2 has a Zipf distribution too. It requires an exponent above 1, and cannot fix the share of the
// most frequent id.
package synth
