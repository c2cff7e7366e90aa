// Package pace defines what distinguishes one training algorithm from another. A rule decides which rank may
// read ahead of which other, and how the dense parameters of the ranks are kept together. From the rule
// follow bounds on staleness, and a Meter measures the staleness that occurs.
//
// # Rules and modes
//
// A Rule is a pure function of its settings. The state machines of package role ask it, for example, whether
// a rank may issue another lookup. All other code asks a rule for facts and never for its name.
//
// A Mode makes a Rule from Settings, under the name that job files, command lines and reports use. New
// returns the rule of a mode. The modes of Tandem are the table in modes.go, each in a file of its own:
//
//   - sync: BSP, with the values of sequential training.
//   - hybrid: Persia's algorithm (Lian and others, KDD 2022).
//   - async-ps: parameter servers for both parts of the model, without waiting.
//   - async-average: replicas that are averaged in the background.
//   - ssp: stale synchronous parallel training (Ho and others, NIPS 2013).
//   - gba: global batch aggregation (Su and others, NeurIPS 2022).
//   - local-sgd: replicas that are averaged while all ranks wait (Stich, ICLR 2019).
//   - backup-workers: synchronous training that does not wait for the slowest ranks (Chen and others, 2016).
//
// # Staleness
//
// A read of rows, or a push of dense gradients, has missed the updates of earlier steps that were not applied
// at that time. Staleness counts these in four ways: own, cross, inflight and dense. Bounds are the largest
// values that a rule promises. CheckBounds compares the two at the end of every run, and package search
// compares them in every order of events of a small cluster.
//
// StageMeter measures the duration of the stages GE, FC, BC, DS and PEG. Both meters are observers
// (event.Observer), so the simulator and the runtime measure in the same way.
//
// # Adding a mode
//
//  1. Write a type that implements Rule. Embed the most similar rule and override the methods that differ. A
//     rule that reduces the effect of stale gradients also implements Weigher.
//  2. Declare a Mode with its name, the words for what it can overlap, and its own settings (Setting).
//  3. Pass the Mode to Register in an init function. A mode that becomes a part of Tandem is a line in the
//     table in modes.go instead.
//  4. Derive the bounds in the comment of Bounds, and test them in every order of events with package search.
//
// If no Strategy keeps the dense parameters together as the mode needs it, add one: a constant here, a file
// strategy_NAME.go in package role and a file NAME.go in package exec/dense, each with a line in the table of
// its package. The file docs/algorithm.md adds a mode step by step.
//
// # Decisions
//
//   - Replicas of async-average meet every n steps, not every 500 ms. The number of rounds is then a part of
//     the job, and a run needs no clock to end. The period does not follow the speed of the network.
//   - Package exec applies the weight of a stale gradient (Weigher). Roles carry no versions, and package
//     search has no more states for it. A role cannot decide by a weight.
package pace
