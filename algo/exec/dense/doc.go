// Package dense keeps the dense network of several ranks together: by all-reduced gradients, by dense PSs, or
// by averaged replicas.
//
// The rule of a mode names a pace.Strategy; New returns its Strategy, which the executor asks for everything
// that concerns the dense network. Package role has the same strategies as state machines, without numbers.
//
// # Decisions
//
//   - Ranks in lock step of one process share one copy of the weights. Their parameters are equal, so the
//     first rank at the optimizer performs its step. The other modes take another path.
package dense
