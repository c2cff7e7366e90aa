// Package delay says how many steps later the gradient of a step takes effect:
// staleness as an input, for those who study what it does, where package pace
// has it as an outcome.
//
// One logical trainer reads, computes and sends its gradients on their way, one
// step after another. The read of step j sees exactly the updates of the steps
// i with i + dᵢ < j, where dᵢ ≥ 0 is the delay of step i: with d = 0 throughout
// this is sequential training. Updates that become visible at the same read are
// made in the order of their steps.
//
// The read of step j so misses mⱼ = #{i < j: i + dᵢ ≥ j} updates. That is not
// dᵢ, though their sums over a run agree when delays that reach beyond its end
// are cut there, since a delay of d is seen missing by d reads (Little's law).
package delay
