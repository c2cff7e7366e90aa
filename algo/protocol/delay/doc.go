// Package delay assigns to every training step the delay of its gradient: the number of steps after which the
// gradient takes effect. Staleness is an input here, exactly known and equal in every run, for studies of its
// effect. In package pace staleness is an outcome.
//
// # The model
//
// One logical trainer reads parameters, computes a gradient and sends it, one step after another. The
// gradient of step i has a delay dᵢ ≥ 0. The read of step j sees exactly the updates of the steps i with i +
// dᵢ < j. If all delays are 0, this is sequential training. Updates that become visible at the same read are
// made in the order of their steps.
//
// The read of step j misses mⱼ = #{i < j: i + dᵢ ≥ j} updates. In general mⱼ ≠ dⱼ, but their sums over a run
// are equal if delays that reach beyond the end of the run are cut there: an update with delay d is missing
// in d reads (Little's law).
//
// # Using the package
//
// Parse reads the text form of delays, such as "at-most 5", into a Spec. A Spec of a trace then needs
// Spec.Load. NewModel makes the Model, whose DelayOf returns the delay of a step. To add a distribution, add
// a Kind and handle it in Parse, Spec.Validate, Spec.String and NewModel or Model.DelayOf.
//
// # Why a delay is no mode
//
// A mode makes staleness an outcome, which differs from run to run. A delay makes staleness an input of
// sequential training, so its effect can be measured. The price is that there are two ways to make gradients
// stale.
package delay
