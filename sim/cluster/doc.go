// Package cluster predicts the throughput of a training job on a cluster. It
// drives the state machines of algo/protocol/role, the same that the runtime drives, in
// virtual time: work and messages become priced events. By default no number of
// the model is computed; with Options.Numerics all are, and it also tells how
// well the model has learnt by when.
//
// # What is priced, and on what
//
//   - Work of EWs, PSs and the data loader: core time and memory time of their
//     host, both shared with whatever else runs there (device.CPU), or on this machine
//     taken in turns (turns).
//
//   - FC, BC and the dense optimizer: kernels on the rank's accelerator, one
//     after the other, by the roofline model. BC reports each bucket of dense
//     gradients when its part of the parameters has had its part of the time.
//
//   - Pooled embeddings, their gradients and samples cross the link between
//     host and accelerator, a copy engine for each direction.
//
//   - A message costs core time at both ends (a fixed part, and one copy of its
//     payload), the latency of the network, and a flow from the sender's uplink
//     to the receiver's downlink, shared max-min fairly. Messages without a
//     payload are too small to be a flow.
//
//   - DS is the hierarchical all-reduce: reduce-scatter and all-gather inside a
//     server in closed form, and the part between servers as a flow over the
//     cards of all servers, where it competes with embeddings. Alone on its
//     links it takes the closed form's time.
//
//   - Dense PSs have a host each, like those of the PSs and beside them: more than
//     rivals have that share hosts, and so in favour of the modes that need them.
//     Pulled parameters and pushed gradients cross the copy engines too.
//
//   - The snapshot of a replica and the folding in of a mean are kernels; the mean
//     itself is an all-reduce that no rank waits for.
//
// # Folding
//
// Like PSs can be folded into one state machine that stands for all of them: a
// batch's fan-out is then one message whose flow counts P times on the EW's
// link and once for each PS of the receiving host.
//
// # Numerics
//
// Numerics decide what roles learn of the data, and so every size on the wire: the
// true samples of the last batch of an epoch, the true rows of every batch on
// every PS. Work is priced by the same true sizes, except that the ids of a
// sample, and the rows that ranks share in one step, are the workload's
// expectation. How long real work takes on the machine below matters nowhere.
//
// # Faults
//
// The faults of a training act on messages and roles as in the runtime: the n-th message from one role to
// another has the same fate. A lost message is priced up to its arrival at the receiver's host, sender's
// cores and wires included, and so is one for a role that is away; a repeated one is priced twice; one that
// is late or held back enters its sender's cores when it is due. Work under way when its role crashes keeps
// its cores busy to the end. Messages that were sent before a crash still arrive.
//
// With faults no PS is folded, because messages are lost one by one; all steps are simulated to the end, 100
// of them and more are measured, and a run is not repeated until it settles. Where roles ask again sooner
// than a cluster can answer, the run ends with an error.
//
// # What is left out
//
// Crashes of roles that hold parameters, skew of ids among PSs, hot rows in caches, evaluation
// and checkpoints. Batches all cost the same unless Options.Jitter is set.
package cluster
