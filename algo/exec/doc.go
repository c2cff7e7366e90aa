// Package exec executes the work that roles ask for.
//
// A role decides and computes nothing: it asks its driver for work on data that it names by handles. A driver
// that trains hands each item to an Executor, with the Store of the role, which holds the data; it also
// passes the Payload of each message from the store of the sender to the store of the receiver. A driver that
// only predicts time has no executor. An Executor serves all roles of one process; the drivers are
// runtime/driver, runtime/numerics for simulated runs, and replay.
//
// The work of each role is a file: data_loader.go, embedding_worker.go, embedding_ps.go, nn_worker.go and
// dense_ps.go. Package dense has the ways in which ranks train the dense network together, package embedding
// the rows of a PS, package evaluation the predictions, and package reference the sequential training that
// all modes are compared with.
//
// # The way of an embedding gradient
//
// nnWorkerWork.backward computes it, and message PutGradients takes it to the EW. Merge of package route sums
// the gradients of each distinct row, and message Put takes the sums to the PSs. There embedding.Shard
// divides by the number of samples and applies the weight of staleness, and Table.Apply calls the row
// optimizer.
//
// Where slots take maxima, an EW sends which id of its bag has each (Pooled), and the rank sends these
// numbers back with the gradients. So an EW keeps no rows for Merge, nor needs any after a crash.
//
// # Hot rows
//
// A row that is hot (job.Hot) is on every rank instead of a PS. The EW routes it to one more owner
// (shard.Plan.Owner) and sends MixedRows instead of pooled embeddings: those of the bags without a hot row,
// and for the other bags their rows, so that the rank pools them in the order of the bag (route.Mixed). The
// rank sums the gradients of its hot rows into model.Vector.Rows, which is one more bucket of the all-reduce
// (dense.WithRows). Every process with ranks takes the optimizer step of these rows once. Roles do not know
// hot rows: they count one bucket more.
//
// Other rows may be hot from the next run of the roles on (Executor.SetHot). Rows then move between the
// tables of PSs and that of the hot rows with all their bits.
//
// On an fp32 wire, sums have the bits that PSs would have computed: a bag is never divided; −0 stands for a
// row that a rank does not have, and changes no sum; and ranks are summed along the same tree. On a narrower
// wire, other rows are rounded, and hot rows are not.
//
// # Rows on GPUs
//
// With rows.placement: gpu the ranks hold all rows, in the memory of their GPUs (gpuRows). They are owned as
// hot rows are, by the owner behind the PSs (shard.Plan.OnRanks). The EW passes the ids on as the payload of
// Embeddings; PSs are asked for no row, and no gradient of a pooled embedding leaves the rank. Roles and
// messages are the same.
//
// Where slots have other placements (divided), the ranks own the rows of some feature groups
// (shard.Plan.WithGroupsOnRanks). An EW takes the ids of their slots out of the batch before it resolves it,
// and sends PooledAndIDs: the pooled embeddings of the other slots, and these ids. The rank pools the rows on
// its GPU into the columns between, and returns the gradients of what came.
//
// With rows.hot, too, (tiers) the ranks own the hot rows, each those that a hash of their ids gives it, and
// the EW takes the ids of these rows out of the batch. The rank adds the rows on GPUs to what the EW has
// pooled. So a bag with rows of both is summed in another order than where all rows are in one place: sync
// has one set of bits for one set of hot rows, and that of rows on PSs where no bag has rows of both.
//
// Hot rows on every GPU, as they are on every host, would be reduced as a whole in every step, whether a
// batch has them or not. That suits some thousands of rows, and not the memory of a GPU.
//
// How several ranks divide the rows is a matter between them (model.RowsTrainer), which a checkpoint does not
// know. Forward of a rank then waits for that of the others, and the update of the rows is one more bucket of
// the all-reduce. When a run fails, GiveUp ends the waits.
//
// # Admission
//
// A payload from another process is checked before a role receives its message. Admission.CheckPayload
// compares it with the message, the job and the data set; a message may have 4,096 ids for each sample and
// slot, in the mean. CheckHeld compares it with what the receiver holds of the batch. Package role checks the
// message itself (role.Admit, role.CheckCredit).
//
// # Memory of payloads
//
//   - A frame from another process has one receiver, however often a message is repeated. Its memory is used
//     again when the role releases what it kept of the payload (Executor.Keep). That holds for kinds of data
//     that nothing else refers to; ids and samples are allocated for each message. At most 64 MiB are spare.
//   - Within a process a payload is a pointer, and its sender lends it (Executor.Lend). Its memory is used
//     again when the sender has released it and each receiver needs it no longer. A ring says so as soon as
//     it has a copy. The price is a count of holders for each payload.
//   - Before payloads were lent, the process of the PSs spent a sixth of its time on allocation and garbage
//     collection. Over TCP, and where faults are injected, payloads are still garbage collected. So is what
//     is never freed, as after a crash.
//
// # Decisions
//
//   - async-ps, ssp and async-average are checked against plain loops that share no code with this package
//     (oracle_test.go). A fault in shared code would pass a comparison with itself. The other modes are
//     special cases of these, and have no oracle of their own.
//   - Fingerprints of payloads are our own, because recordings hold them: hash/maphash has another seed in
//     every process. They fold numbers in place, without encoding them to bytes.
//   - A gradient that is not finite stops the run at every batch, where Persia checks the first batch only.
package exec
