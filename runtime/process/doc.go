// Package process trains one run in several operating-system processes, each with some of the roles.
//
// The package has two halves:
//
//   - Run is one process of a run, which the program cmd/node calls. It joins the run at its host, connects
//     to the other processes, trains, lets the host read its part of the model, and leaves.
//   - Cluster is the host's half. It runs the host and, if Options.Command is set, starts a process on this
//     machine for each entry of the job's placement, restarts those that can restart when they die, and stops
//     all at the end. It satisfies train.Cluster.
//
// Package member decides who is in the run, transport carries the messages of roles, allreduce sums
// gradients, and driver runs the roles. This package connects the four.
package process
