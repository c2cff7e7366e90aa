// Package papers puts the figures and tables of the papers on Persia and Neo/ZionEX on one page, in the form
// that the papers have, from the results of the experiments.
//
// An exhibit is a figure or table of a paper: what is drawn, one sentence, and the verdicts on the claims
// that it is about. Everything in it follows from stored numbers: most figures are those that an experiment
// draws again from its results, and a few combine the results of two. What cannot be shown says why.
package papers
