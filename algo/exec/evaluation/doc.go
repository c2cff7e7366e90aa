// Package evaluation predicts test rows from a model, during or after its training.
//
// A TestSet resolves the ids of the test rows once. Snapshot copies what the rows need from a State, between
// two steps of the training; Predict computes probabilities from the copy while the training goes on. A Point
// is the result: steps, seconds, AUC and log loss.
//
// # Decisions
//
//   - An evaluation copies the rows that it needs between two pieces of a PS's work, so prediction runs
//     beside training. In sync a point equals that of sequential training bit for bit. Within a process no
//     rank waits for the copy; between processes rank 0 does. The price is a copy of the rows of the test
//     set.
package evaluation
