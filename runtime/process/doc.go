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
//
// # Placement
//
// The job says which roles share a process (job.Placement):
//
//   - apart, the default: a process for every role
//   - together: one process for all
//   - workers: embedding worker i with rank i
//   - colocated: one process for all PSs and one for all other roles
//   - or any list of processes
//
// Messages between roles of one process travel by pointer, as in driver.Run. A process has one incarnation,
// and can restart if all its roles can. A recording has a file for each role.
//
// # The end of a process
//
// A process that cannot come back ends the run. If it panicked, the user sees the first line of its panic;
// the stack is on stderr of the launching command.
//
// A pause for a checkpoint ends the run for every process but the host, and each joins the next part
// (ErrContinues). A part is a run like any other, with its own id, so nothing of an earlier part can reach
// it. The price: connections, roles and executors are made again.
//
// # Decisions
//
//   - Package train declares what it asks of other processes (train.Cluster), this package provides it, and a
//     command joins the two. So no package knows the one that orchestrates it, for the price of one more
//     interface.
package process
