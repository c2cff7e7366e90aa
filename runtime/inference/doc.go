// Package inference predicts with a trained model.
//
//	m, err := inference.Open("results/clicks/hybrid/model")
//	defer m.Close()
//	probabilities, err := m.Predict(rows) // rows × labels
//
// Rows of a file come from datasets.ReadFeatures with the model's Data and Scaling.
//
// Predictions have the bits of an evaluation after the training. The embedding rows stay in the files of the
// model, which are mapped into memory; an id that was never trained on has a row of zeros.
//
// # Decisions
//
//   - A Queue computes the requests that wait together, and none waits for others. With few clients a request
//     is as fast as alone; with many, weights are read once for several rows. A batch is as large as the load
//     makes it.
//   - A newer model is verified, then replaces the served one, which is unmapped after its last request
//     (Live). No request fails or mixes two models. One that has changes of the served one shares its rows
//     (OpenNext); of another, for a moment, both are mapped.
package inference
