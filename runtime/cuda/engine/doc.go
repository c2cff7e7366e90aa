// Package engine trains dense networks on GPUs. It makes replicas (model.Replica) whose parameters, gradients
// and optimizer state are in the memory of a device. Embedding rows stay on the embedding PSs, in the memory
// of hosts, unless the job places them on the GPUs of its ranks. A job asks for it by model.device: cuda;
// see Attach.
//
// Groups are computed as on the host: each by itself, their gradients summed along the tree. So the bits of a
// training do not depend on the number of devices. They differ from those of the host, in the last places.
//
// # A step
//
// The engine computes the parts of model.Program, which the built-in engine computes as well: matrix products
// by cuBLASLt, all else by the kernels of package kernels. Each tensor begins at a multiple of 16 bytes.
// Nothing is added in an order that depends on time.
//
//   - Forward copies the pooled embeddings, numbers and labels of a part to the device.
//   - Backward appends the work of all buckets to one stream. A second stream copies every bucket to pinned
//     memory of the host as soon as it is final, while the device computes the next one. Only then may the
//     bucket be fed to the all-reduce. So DS overlaps BC, and every strategy of package dense works as on the
//     host.
//   - The optimizer step takes the sum back. Evaluation and checkpoints copy the parameters to the host.
//   - The second step on parts of the same sizes is recorded as CUDA graphs, one for each bucket and one for
//     the forward pass. Later steps launch them.
//
// The gradients of a single rank are the sum: they stay on the device, and the backward pass is one graph.
//
// # Values in bf16
//
// With model.precision: bf16, products take bf16, and values between them are kept as bf16 alone
// (narrowValues): products leave them so, and kernels whose names end in _bf16 read and write them. All else
// stays fp32: parameters, their gradients, inputs, logits, and what a batch norm normalizes. Products need a
// bf16 copy of the parameters, which is made once a step.
//
// A product adds the bias of its layer. If cuBLASLt has no algorithm for that, a kernel adds it, and the user
// reads of it once.
//
// # Rows
//
// With rows.placement: gpu a replica holds embedding rows, too (rows, occurrences): all of them, if there is
// one rank. Ids come to the device, as signs by group, slot and sample, and the work on rows is part of the
// graphs of a step:
//
//   - Before the network's forward pass, one kernel for each group finds the rows of all slots and pools
//     them. A row that is absent is claimed in the index and has the values that it will begin with, which
//     follow from its sign. Three kernels number and create such rows, in the order of their first
//     occurrences.
//   - After the backward pass, the occurrences are sorted by row. The gradients of a row are summed in their
//     order within a group, and along the tree over groups; then its optimizer takes a step, which does not
//     take place if something is not finite.
//
// If PSs have some rows of a slot (model.RowsConfig.HotOnly), its values from the host are in the model input
// before the rows are pooled, and the sum of a bag begins with them.
//
// The rows have the bits of package table after the same gradients. The table has its size from the start, so
// that addresses stay; room for occurrences grows with the batches. For checkpoints, package exec copies the
// rows to a table of the host.
//
// # Rows of several ranks
//
// Several ranks have the rows together: each owns those that a hash of their signs gives it (shard.Rows),
// which spreads memory and work evenly over the GPUs for tables of any sizes. A step has three exchanges
// between all of them, by NCCL's sends and receives (exchange):
//
//   - A rank makes a table of copies, with one row for each sign of its batch, sorts it by owner, and sends
//     the owners the signs. The hosts have to learn how many, so this is not part of a graph.
//   - The owners find or create the rows, as the occurrences of a batch whose groups are the ranks, and send
//     their values back. The graph of the forward pass begins with pooling the copies.
//   - When all buckets of the network are reduced, each rank sends the owners the sum of the gradients of
//     each copy. The owner sums them along the tree over ranks and updates the row. This is the last bucket
//     of the all-reduce (dense.WithUpdate), so nothing is updated unless the gradients of all ranks are
//     finite.
//
// A rank's groups are a branch of the tree over all groups, so a sum over its groups and then over ranks has
// the bits of the sum on one GPU. Exchanges never overlap with the sums of NCCL, and share its communicator.
//
// A forward pass waits for those of all other ranks. If one fails, GiveUpRows ends the waits of the others.
// Ranks tell each other how many rows they ask for in the memory of the host (meeting), make room, and meet
// again before and after the exchanges. So no memory is taken or freed, and nothing is recorded, while the
// kernel of an exchange waits for another rank: the driver may wait for all GPUs then, whose memory NCCL
// connects. For the same reason the ranks rehearse a step before the first, and replicas of an earlier
// training are freed between exchanges. In software, taking and freeing memory waits for all such GPUs.
// Several GPUs of hardware have not been tried, nor whether backward passes can be recorded there beside
// sums of NCCL.
//
// All ranks are in one process, and none is recorded: a replay performs the work of one rank after the other.
//
// # NCCL
//
// With wire.all-reduce: nccl or nccl-tree, gradients that are reduced in every step stay on the devices, in
// sync and hybrid. The Trainer is then a dense.Summer, and SumBucket takes the place of the sum over hosts.
// Before the first step the ranks exchange the name of NCCL's communicator through the all-reduce of the
// hosts (Collective.Gather).
//
// The setting nccl-tree gathers a bucket and sums it along the tree over ranks, which keeps the bits. NCCL's
// own order does not. A rank that dies ends the run as ever, and the sums that wait for it are aborted.
//
// # Measuring
//
// Measured is a replica that can leave its copies out and lists its matrix products. An experiment times its
// steps beside those of PyTorch on the same GPU.
//
// # Decisions
//
//   - Gradients travel to the host for the all-reduce unless the job chooses NCCL. So there is one tree of
//     sums and one set of bits for every mode and placement, also with several ranks on a GPU. The price is
//     two copies over PCIe a step, the first beside the backward pass.
//   - The ReLU of cuBLASLt makes 0 of NaN, and a network that diverges would go on. So ReLU is a kernel of
//     its own, and so is its gradient: cuBLASLt's takes a mask of bits, whose order is not documented, and
//     would leave the gradient of the bias as bf16. The price is two passes over the values of a layer. In
//     bf16, the first leaves a bit for each value, so that the second need not read the values themselves.
//   - A batch norm takes its statistics of fp32 values, also in bf16. Over the few samples of a small group,
//     those of rounded values led a training as far as 0.16 from the predictions of one in fp32, instead of
//     0.025. The price is 4 bytes for each value instead of 2.
//   - Occurrences are sorted by the number of the first occurrence of their row in the batch: two or three
//     digits instead of the four of row numbers, and the order does not depend on the index. Atomics claim
//     slots and find these numbers, and no sum.
//   - A row that a rank's batch names several times travels once. The price is a second index, of copies, and
//     a sort by owners.
//   - A thread waits for the occurrences of a row in a group, which it adds one after the other: the price of
//     the host's bits. With more groups (training.groups), the chains of a frequent row are shorter.
package engine
