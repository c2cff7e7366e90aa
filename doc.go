// Package tandem is the root of a framework that trains and simulates huge recommender models: embedding
// tables asynchronously, the dense network synchronously, after Persia (KDD 2022). It holds no code of its
// own; this page says where to start.
//
// One algorithm core runs under two drivers. The roles of a training cluster are state machines without
// clock, goroutine, socket or tensor. The runtime performs the work that they ask for; the simulator prices
// it:
//
//	            algo/protocol/role    data loader · embedding worker · embedding PS ·
//	            algo/protocol/pace    NN worker · dense PS · coordinator; a mode is a rule of pace
//	               │              │
//	runtime/driver                sim/cluster
//	goroutines, gRPC              one event queue
//	algo/exec computes            work and messages have prices
//	               │              │
//	real seconds, real AUC        simulated seconds, on any cluster
//
// # Where to start in a program
//
//   - algo/job reads the file that says what is trained, or returns a job to start from.
//   - datasets opens the data of a job and deals out its global batches.
//   - runtime/train trains a job in this process and evaluates it.
//   - sim/cluster predicts the throughput of a job on a cluster.
//
// The example trains the census data twice and compares bits.
//
// # Where to add
//
// An algorithm is a file of algo/protocol/pace, a model is a function of algo/numeric/model, an optimizer is
// a file of algo/numeric/opt, a data set is a file of datasets. CONTRIBUTING.md has the steps,
// ARCHITECTURE.md the map and the reasons for it.
package tandem
