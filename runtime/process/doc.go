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
// and can restart if all its roles can. A recording has a file for each incarnation of a role.
//
// # The end of a process
//
// The death of a process that cannot come back ends the run, or a part of it. If the process panicked, the
// user sees the first line of its panic; the stack is on stderr of the launching command.
//
// # Parts of a run
//
// A run has several parts if its model is saved on the way. At the end of a part, every process leaves the
// host and joins that of the next part (ErrContinues). A part is a run like any other, with its own id, so
// nothing of an earlier part can reach it. The price: connections and roles are made again.
//
// A process says in its Hello which part's end it holds (Kept). If the next part begins there, the host says
// so in its Welcome, and the process goes on with its executor: rows, network and optimizers. All others read
// the model that was saved: a process that was started again, and every process after a loss, or where rows
// become hot or cold. The rows of the saved model are written behind the training of the next part.
//
// Within a part, roles that can restart come back; a PS can (Options.Redo; package redo), and so can a rank
// (job.Roles.RankRecovery), unless the embedding worker of its batch dies with it, or it is recorded. A part
// that loses another process, or one of these for good, is abandoned. Cluster then begins the next one from
// the model that was saved last, as package train decides (Options.RestartsMax). The other processes drop
// what they hold and join it; those that hang or do not leave in 1.5 s are killed and started again, like the
// dead one. No protocol of recovery exists beside that of a pause, so what is tested of one holds for the
// other. The price: all roles repeat the steps since that model.
//
// # Fewer processes
//
// Before each part, Cluster.Roles says how many roles of each kind there are: with Options.Fewer, those of
// the processes that are there (fewer.go). Of each kind, all that are left have a role; of NN workers as many
// as suit the mode and its groups. Nothing else is new: a model is read by any number of PSs and ranks, and a
// part has roles, records and bounds of its own. A process that comes late waits for the next part.
//
// # Decisions
//
//   - Roles of a process follow from who is there, in the order of the job, and from nothing else. So the
//     host keeps no table of them, and one that takes over decides alike. The price is that a rank may have
//     another number after a loss; lines about it name both.
//   - Package train declares what it asks of other processes (train.Cluster), this package provides it, and a
//     command joins the two. So no package knows the one that orchestrates it, for the price of one more
//     interface.
package process
