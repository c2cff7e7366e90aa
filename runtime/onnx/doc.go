// Package onnx predicts with the graph of a network, by onnxruntime: models of kind torch without Python.
//
//	library, err := onnx.Open("")             // libonnxruntime.so.1
//	engine, err := library.Engine(graph, layout, values)
//
// A graph is an ONNX model without the values of the network: from embeddings and standardised numbers,
// samples × width each, to logits, samples × labels. Parameters and statistics of batch norm are tensors
// whose data lie elsewhere: bytes of the vector parameters, or running, of model.Values. So the graph of a
// training is that of all its checkpoints. The module graph of runtime/torch/python/tandem_worker writes it.
//
// # Decisions
//
//   - The library is opened while the program runs, by the functions of its C interface that version 1.0 had:
//     their places in its table never change. Modules that do the same without cgo support one version of
//     onnxruntime, and the one that supports many needs cgo.
//   - Values are filled in before onnxruntime reads the graph. It then folds what does not depend on the
//     inputs, and reads no file: a graph that refers to one is refused here.
//   - A session computes with the goroutine that calls it. Requests are what runs beside each other, as with
//     the built-in networks.
//   - A graph is data. It names operators that onnxruntime has, and no code; a graph that someone has made to
//     do harm can take memory and time, as large as its operators say.
package onnx
