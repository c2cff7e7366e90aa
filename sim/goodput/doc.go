// Package goodput estimates what failures cost a training, and how often its model is best saved. It
// simulates trainings of days in virtual time. Processes die at random, and training recovers as package
// runtime/train does.
//
// # The training
//
// A training is a sequence of parts. Between two of them it stands still for a checkpoint, whose parts the
// processes then write while they train on. Before all are written, it does not exist, and the next one waits
// for it. Processes and machines of each Kind fail as a Poisson process. A failure has a Consequence, by what
// the process held:
//
//   - Returns: the process is started again, and the others wait. Nothing is trained again.
//   - Copies: the same, and the process takes its parameters from another. Between two parts all go back.
//   - Redone: the same, and the process reads the newest checkpoint and handles its inputs since then again.
//     Between two parts there is no log, and the process may not have written its part of the checkpoint
//     before, so there and until that is written all go back.
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
// Writing does not slow training down. A process that copies its parameters also computes again what it had
// computed of the steps in flight, which takes no longer than a step.
//
// Failures are independent, and none becomes rarer or more frequent with time. A hardware error that a
// process reports ends a run of the runtime; here it counts as a loss. The steps that a training repeats are
// as fast as the others. Storage does not fail, and checkpoints are never damaged.
package goodput
