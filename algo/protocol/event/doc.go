// Package event defines the records that roles make of a run: what happened, in which role, to which batch,
// and when.
//
// A role records events among its outputs (role.Record). The driver hands each record to the observers of the
// run. Simulator and runtime record the same events, so one piece of code, such as pace.Meter or
// pace.StageMeter, measures both.
//
// # Promises to observers
//
//   - The records of one role arrive in the order in which the role made them.
//   - A record arrives after the records of other roles that caused it.
//   - Calls of Observe do not overlap.
//   - Record.Rows is read-only: the role may still use the slice.
//
// Clocks of different processes need not agree, so an observer compares the times of two records only if one
// role made both.
package event
