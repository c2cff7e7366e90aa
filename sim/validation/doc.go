// Package validation holds published training steps of recommender systems: how long a step takes on which
// hardware, with which software and model. They are for judging the simulator, and for fitting prices. The
// list is frozen: a price may be fitted to rows marked fit, and a row marked test only judges.
//
// # Which steps qualify
//
// A step qualifies if a page, a log or a file in a public repository states its throughput or its time, the
// accelerators and their number, the global batch and the precision; if the rows, dimensions and ids of the
// tables and the layers of the model are published or are those of a published configuration; and if the
// tables are in the memory of accelerators or of parameter servers.
//
// Left out are steps that their source calls bound by reading data, steps with rows in the memory of the host
// of an accelerator, training on processors alone, times of single kernels, steps whose batch or model would
// have to be guessed, and steps whose optimizer writes all rows of a table. Of equal settings with several
// versions of a software, at most one row a version is kept. A time that includes the input pipeline says so
// in its column; evaluation is never part of it.
//
// # The rule
//
// The rule was written down, and the list made, without a look at any prediction of these rows. The first
// part that applies to a row decides, and the column reason names the part:
//
//   - known: a price was inferred from the row, or the row was set apart for fitting, before this list was
//     made. It is fit. There are 14 of them.
//   - software: all rows of oneflow and of pytorch-dlrm-graphs are test, so these are unseen as a whole. The
//     first resembles no other software of the list, the second differs from pytorch-dlrm by its graphs.
//   - model: the models of a software are sorted by the SHA-256 of software, "/" and model, as hexadecimal
//     digits. The first third of them, rounded up, is fit with all rows; the others are test.
//   - row: a software with a single model has its rows that are not known sorted by the SHA-256 of their id.
//     The first third, rounded up, is fit.
//
// Steps checks the rule, so a row cannot change sides unseen.
//
// # Columns
//
// The file steps.csv has the columns of [Step] in their order, named by their tags. Models are built-in ones
// of package model or files of the folder models. The published figure and its unit stay beside the step time
// that follows from them. What a source does not say, and was taken to be so, is in the column assumptions.
package validation
