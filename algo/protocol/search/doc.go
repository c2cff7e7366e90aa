// Package search checks the roles of package role: it tries every order of events in a small cluster and
// verifies invariants after each event.
//
// # States and actions
//
// A State is a cluster without time: the roles, the messages and the work in flight, the handles and the
// credit of every role, and the facts that the invariants need. State.Actions lists what can happen next: a
// message arrives, a piece of work ends, a bucket is reduced, a timer fires, and, if Setting.Faults allows
// it, a message is lost or repeated, or a role crashes and comes back. State.Advance performs an action.
//
// A role that needs a redo log to come back has one: a new role handles all inputs of the old one, which must
// make it what the old one was. What the old one had sent may be lost.
//
// Explore visits all states that can be reached from the start, breadth first. The history in its error is
// therefore a shortest one. Walk takes one random path, for clusters that are too large for Explore.
//
// # Invariants
//
//   - A batch is read, trained on, and applied on every PS exactly once, or dropped as the mode allows.
//   - A batch counts as done only when every PS with rows of the batch has applied it, except in modes that
//     buffer.
//   - The staleness of every read and push, and the lead of every rank, are within the bounds of the rule
//     (pace.Rule.Bounds, pace.Rule.Lead).
//   - Every message is one that role.Admit and role.CheckCredit accept, and its sender has credit for it.
//   - A role reads, sends and releases only data that it holds, and at the end no role holds any.
//   - A role that has handled its inputs again holds the state, data, work, timer and credit that it had.
//   - From every state an end can be reached in which every rank has finished.
//
// # Size
//
// The number of states grows exponentially with ranks, steps and faults: Setting.Eager omits orders of
// actions that commute, and Explore stops with an error at a limit. A State has at most 64 batches and 64
// roles.
//
// # Decisions
//
//   - With faults, the search skips no order, because a fault may come between two actions that would commute
//     without it. Settings with a fault are therefore small, and random walks cover larger ones.
package search
