// Package role implements the algorithm of Tandem as state machines, one for each role of a training cluster:
// data loader, embedding worker (EW), embedding PS and NN worker, and in some modes dense PS and coordinator.
//
// # The problem
//
// A recommender has embedding tables that are much larger than its dense network. Persia (Lian and others,
// KDD 2022, arXiv 2111.05897) trains the tables asynchronously on parameter servers and the dense network
// synchronously on GPUs. The order in which lookups, gradients and sums arrive decides what each rank reads.
// These roles implement that order for Persia's algorithm and for the other modes of package pace. A
// pace.Rule is the only difference between modes.
//
// # What a role is
//
// A role is a pure function of its inputs in their order. It has no clock, goroutine, socket, file or random
// number, and it does not see a tensor. It asks its driver to work, names by handles the data that the work
// reads and makes, and receives a few counts. Work, messages, all-reduces and releases list their handles, so
// a driver never derives the data of an output from a convention.
//
// New returns all roles of a run, in the order of Config.Roster. Each has the methods of Role.
//
// # The duties of a driver
//
// A driver gives roles their inputs and performs or prices their outputs. It implements Driver, whose methods
// Dispatch calls. The Example of this package is a complete driver. The duties, in the order in which a
// driver meets them:
//
//  1. Inputs. A role receives one input at a time; the first is Start. The driver performs all outputs of an
//     input, in their order, before the next input of the role. Dispatch does that.
//  2. Work. Work of one role and lane (WorkKind.Lane) takes effect in the order of its issue. Lanes are
//     independent of each other. Work that is Independent may be performed at the same time as other work of
//     its lane. Work ends with exactly one WorkDone or WorkFailed, unless the role crashes before; that of
//     one lane ends in the order of its issue.
//  3. Backward reports one WorkPart for each bucket, in ascending order, before its WorkDone. With these a
//     role can overlap DS with BC.
//  4. All-reduce. When every rank has fed a bucket, each rank receives BucketReduced, and the sum is then
//     under the handle Contribution.Sum. A rank that is back feeds some buckets again, and receives the sums
//     that the others have. In modes that average replicas, the Step of Contribution and
//     BucketReduced is the averaging round. Reduction implements the barrier.
//  5. Messages may be lost, repeated and reordered. If Config.Retry is 0, the driver promises to lose none.
//     Each role has one timer: SetTimer moves it, and it fires as TimerFired.
//  6. Data. The driver drops the payload of a message after the input, unless an output Keep gives it a
//     handle. Data that was kept or made by work stays until Release names its handle.
//  7. Credit. Config.Prefetch and Config.Window bound the number of unanswered requests of a kind on an edge.
//     An answer returns the credit, so a lost message cannot lose credit. A request about an earlier step
//     than all unanswered requests on its edge needs no credit, because the others may be waiting for it.
//     Answers and acknowledgements need no credit. Drivers check this with Credit; a violation is a bug in a
//     role.
//  8. Crashes. A role that crashes loses its handles, its work in flight, its timer and all messages until it
//     is back. Its first input is then Start with the next Incarnation, given to the same value or to a new
//     one. Config.CanRestart reports which roles recover. An NN worker gets the parameters of another rank
//     first, as they are before step Input.Next, the first that Reduction has not completed: from the crash
//     on, Reduction.Withdraw keeps it open. Of the roles that do not recover, those of CanRedo do if a driver
//     gives them all earlier inputs again, and performs none of the messages that follow: the role does not
//     see a crash, only a loss of messages.
//  9. Drain. At any time the driver may give the data loader Drain, which ends the run before its last step:
//     the record EndDecided says where. A data loader that restarts after that receives Drain again, right
//     after Start.
//  10. End. An NN worker that has trained every step says so by Finished. When all have, and no work is in
//     flight, the driver gives every role Stop, and the roles release what they hold. Halt ends the run with
//     an error.
//
// # Ordering and aliasing
//
//   - Outputs are in the order in which the driver must perform them.
//   - HandleInput appends to Outputs and does not keep it. The caller may reuse the memory after Reset.
//   - Slices in outputs, such as Operands.Reads and event.Record.Rows, are read-only. The role does not
//     change them later, so a driver may keep them.
//   - Slices in an Input, such as those of Result, are kept by the role. The driver must not change them
//     later.
//   - A Config is shared by all roles and is never written.
//   - Roles are not safe for concurrent use. Different roles may run concurrently.
//   - Clone returns a role that shares no mutable memory with the original.
//
// # Messages from other processes
//
// A driver that receives messages from other processes checks each with Admit and CheckCredit before a role
// handles it. A role handles every admitted message without panicking, and the memory that a peer can make it
// hold is bounded.
//
// # Strategies
//
// A Strategy of package pace is the way in which NN workers keep their dense parameters together. Each is a
// file strategy_NAME.go with a line in the table in strategy.go. A strategy may also decide when PSs apply
// gradients (access_order.go), and which coordinator the run has.
//
// # Recovery
//
// A role that crashes loses its state, its data, its work in flight, and the messages that arrive while it is
// away. It restarts as its next incarnation: the number of its earlier crashes.
//
//   - Data loader: it asks every rank for its first unfinished step (AskProgress, Progress) and deals again
//     from there. A rank that has a batch, or has finished it, says so.
//   - Embedding worker: it asks the loader for ids again. PSs repeat rows and acknowledgements, NN workers
//     repeat gradients.
//   - Coordinator of ssp: ranks report their clocks again.
//   - Coordinator of backup-workers: it does not come back. No other role knows whose gradients count, so its
//     death ends the run.
//   - NN worker, with Config.RankRecovery: it takes the parameters of another rank, and EWs and data loader
//     have the rest (rank_recovery.go). Without it, and where parameters are not equal on all ranks, its
//     death ends the run.
//   - Embedding PS, dense PS: their parameters exist nowhere else. They come back by a redo log, or not.
//
// # Decisions
//
// Each has its reason and its price.
//
//   - Answers return the credit of requests. Credit has no messages of its own that could get lost, and
//     asking again costs no credit. The exception for the oldest request of an edge is the price: package
//     search found the deadlock of a plain window.
//   - Retries are end to end: only data loader and NN workers have timers (Config.Retry), so one place
//     decides. An EW therefore asks its PSs again only when its NN worker asks again.
//   - A message keeps its payload only if the receiver says so (Keep). A receiver that ignores a duplicate
//     needs no rule for its payload. In return, a run that ends with a payload held is an error.
//   - The credit that a receiver grants, 4 × prefetch + 16 batches of a rank, is wider than the credit of the
//     sender. After a crash late copies may reopen finished batches, and an honest peer must never be
//     dropped. The price is memory that a peer can occupy.
//   - In sync a PS serves the lookups of a step in rank order. It waits for the slowest rank anyway, and rows
//     are then created in the same order in every run, simulated or real.
//   - In other modes a PS serves lookups and puts in the order of arrival, so a lookup may wait for the puts
//     before it. Serving lookups first, with one put in progress at a time, did not make hybrid faster, and
//     reads missed slightly more batches of their rank.
//   - Where gradients are not reduced over ranks, PEG follows backward, because nothing depends on the
//     acknowledgements of pushes to dense PSs. DS and PEG then overlap, so the stage times do not add up to a
//     step.
//   - A dense PS counts pushes, N of which make a step, because it sees no global step; in gba it counts
//     global batches. The price: schedules are stretched, batch-norm statistics fold once for N pushes, and
//     each rank clips its own gradient.
//   - An all-reduce is never aborted. A rank that is back computes its part of it again, to the same bits, so
//     sums that other ranks have may stand. The price is paid without a loss, too: the last bucket of a step
//     waits until the EW has the embedding gradients of the rank, and the EW keeps its pooled embeddings.
package role
