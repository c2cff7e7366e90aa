// Package goodput estimates what failures cost a training, and how often its model is best saved. It
// simulates trainings of days in virtual time. Processes die at random, and training recovers as package
// runtime/train does.
//
// # The training
//
// A training is a sequence of parts. A part begins with the newest checkpoint and ends with the next one, for
// which training stands still: while the model is written, and while all roles read it again. Processes and
// machines of each Kind fail as a Poisson process. A failure has a Consequence, by what the process held:
//
//   - Returns: the process is started again, and the others wait. Nothing is trained again.
//   - Redone: the same, and the process reads the newest checkpoint and handles its inputs since then again.
//     Between two parts there is no log, so all go back.
//   - GoesBack: all begin again with the newest checkpoint. What was trained since then is trained again:
//     without checkpoints, all.
//
// A failure that comes while others wait for a process, or while all begin again, counts too: the recovery
// begins again, or both processes return and the later one ends the wait.
//
// Every moment of a training counts at its end, or is lost to one Cause. So the useful time and the lost
// times add up to the whole time.
//
// # The best interval
//
// Best tries intervals around Young's, with the same failures for each. With Plan.Auto the training chooses,
// by the rule of the runtime, which has to see failures first. Young's and Daly's formulas are the
// same model at its first order and in closed form, for failures that all go back; a test compares Simulate
// with them.
//
// # What is left out
//
// Processes of the runtime write a checkpoint while they train, and it does not count before it is complete.
// Here training stands still until it is written and read, which costs more unless checkpoints follow each
// other closely.
//
// Failures are independent, and none becomes rarer or more frequent with time. A hardware error that a
// process reports ends a run of the runtime; here it counts as a loss. The steps that a training repeats are
// as fast as the others. Storage does not fail, and checkpoints are never damaged.
package goodput
