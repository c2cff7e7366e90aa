// Package graph simulates systems that keep the tables in the memories of the accelerators, such as TorchRec,
// HugeCTR and Neo. There are no parameter servers: in every step all ranks exchange ids, pooled rows and
// their gradients in collectives.
//
// A Step is the work of one rank: nodes that are kernels, collectives, copies or work of the host, with
// dependencies, each on a stream. Steps repeat, and overlap as far as dependencies on the step before allow.
// Build makes the step of a Job: it places the tables, prices kernels by the accelerator and collectives by
// the topology of tandem/sim/topo, and gives every node the resources that its time is due to. Run simulates
// it.
//
// All ranks are alike but for two things. The rank with the most work in tables stands for all, since the
// others await it in every collective. And the random factors on forward and backward are those of the
// slowest rank.
//
// # Placement
//
// Tables are placed in several ways, each good by prices that have no rate of the cluster in them, and the
// step of every placement is simulated. The fastest is the result. A planner with the cluster's own prices
// jumps from one placement to another that its estimates take for better, and a better network made steps
// longer. Some placements have whole tables, as the simplest planner has, so that none is worse than that. If
// there are few placements, they are all tried.
//
// # The step
//
// Batches are in three places at once, as in TorchRec's TrainPipelineSparseDist: step i computes batch i,
// exchanges the ids of batch i+1, and copies batch i+2 to the accelerator.
//
//	host thread         launches everything; awaits the lengths of batch i+1
//	copies              batch i+2, rows that are not in the accelerator's memory
//	input collectives   lengths and ids of batch i+1
//	accelerator         lookup, bottom layers, interaction, top layers, and back; update of rows; optimizer
//	collectives         pooled rows after the lookup; their gradients; buckets of dense gradients
//
// The rows are updated in the same step and by exact optimizers, so the results are those of one machine.
package graph
