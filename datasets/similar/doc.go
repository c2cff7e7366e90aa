// Package similar returns the generated data set that resembles a given one: the columns of ids, the ties
// between columns of which one determines others, and the teacher that draws labels which are as hard to
// predict.
//
// Effects are estimated with a logistic regression whose coefficients are shrunk by the variance of the
// effects of their column, which is estimated with them (Breslow and Clayton, Journal of the American
// Statistical Association 88, 1993). The strength of the signal cannot be read off the coefficients,
// because most ids are rare. It is found by indirect inference (Gourieroux, Monfort and Renault, Journal of
// Applied Econometrics 8, 1993): it is the strength with which generated rows give the same regression
// the same AUC as the real rows do. Only training rows are used.
package similar
