// Package model has the dense networks. A Spec describes one, an Engine and its Pass run one, and New returns
// the built-in engine.
//
// A network's parameters are outside the engine, in one flat []float32, so that a collective, an optimizer
// and a checkpoint can treat them as plain values. The unit of work is one group of a batch: a Pass has the
// scratch of one group, and returns gradient sums, never means, because the division by the step's sample
// count comes after the sums of all groups have been combined. Weights add the optimizer, and a Replica runs
// the groups of one rank.
//
// # Decisions
//
//   - Running statistics of batch normalization fold once a step, over all groups of the step. Folded for
//     each group, their memory would shrink with the number of groups. The price: statistics travel with the
//     last bucket.
//   - A layer over joined values multiplies each part in place, one product for each part. So embeddings are
//     not copied into the input of the first layer, nor gradients out of it.
//   - Precision bf16 rounds the operands of products, not the parameters. Sums and parameters keep their
//     bits, and weights are rounded again for every product.
//   - A network of kind fm or deepfm has one head, because the linear weight of an id belongs to one label.
//     Several labels need another network.
//   - Exact bits are promised for each engine and instruction set. Engines differ in the last bits, and the
//     built-in kernels alone promise that a row of a product does not depend on the other rows.
//   - Digests of weights are FNV-1a, which hash/fnv computes. Reports and recordings hold them, so they may
//     not change.
package model
