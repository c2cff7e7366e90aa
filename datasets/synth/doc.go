// Package synth generates click-log-like data whose best reachable AUC and log
// loss are known.
//
// Ids of a column follow a bounded Zipf law and are drawn independently of the
// other columns. Labels come from a planted teacher, a hidden factorization
// machine (Rendle, ICDM 2010) over ids and numbers:
//
//	score = a·Σ_c w_c + b·Σ_{c<d} ⟨v_c, v_d⟩ + e·Σ_j u_j x_j
//	p     = sigmoid(scale · (score − mean) / deviation + bias)
//	label ~ Bernoulli(p)
//
// where w and v of a column are sums over the ids of a row, divided by the root of
// their mean number. The hidden values of an id are hashes of (seed, column, rank), so a column of
// 10⁹ ids costs no memory. Mean, deviation and bias come from a pilot sample of
// the same law; they depend on the seed and not on the number of rows, so more
// rows are more rows of the same task: the first rows stay the same.
//
// The same spec gives the same bits on one architecture. Others may round exp
// and log differently.
package synth
