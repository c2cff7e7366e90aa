// Package worth says what a trained model is worth beyond one number: which columns its predictions of test
// rows depend on, and for which of these rows they are good.
//
//	features := worth.Features(&schema, derived)
//	importance, err := worth.Permute(ctx, model.Predict, test, features, seed)
//	for _, slice := range worth.ByValue(predicted, labels, test, feature) { … }
//
// # Decisions
//
//   - The importance of a column is the fall of AUC when its values are permuted among test rows (Breiman,
//     Machine Learning 45, 2001, section 10). It is what the model makes of the column, not what a model
//     without it would lack: of two columns that say the same, each may fall little.
//   - A derived slot moves with each of the columns that it is made of, because a column that is wrong makes
//     the slot wrong.
//   - The cost has a bound that depends on neither the clock nor the size of the data, so that the same model
//     has the same figures everywhere: a sample of the test rows, half of it of either class if there are
//     enough, as AUC does not depend on their shares; and of a wide table, columns in groups.
package worth
