// Package allreduce sums the dense gradients of ranks in several processes, to the bits that one process
// would get.
//
// The members of a group are ranks, any number of them. Every member sends its part of a bucket to the owners
// of the bucket. An owner sums the parts along the tree over members and sends the sum to every member: two
// hops. The last member alone owns a small bucket, because then messages cost the most, and there are 2(N−1)
// of them for N members. A larger bucket is cut into one chunk for each member, which owns the chunk
// (reduce-scatter, all-gather): 2N(N−1) messages, but no member sends more than two times the bucket.
//
// The sum of a rank is a branch of the tree over groups of samples. Every element is summed along the same
// tree, to the same bits, for any number of processes and chunks (see package collective).
//
// Batch-norm statistics are gathered, not summed, because every member needs the statistics of all members in
// order: every member sends its own to every other one.
//
// A member may come back after a crash, at most a step behind: Return then sends it again what it has lost.
//
// # Use
//
//	g, err := allreduce.New(allreduce.Config{Members: ranks, Self: i, Send: send, Done: done})
//	err = g.Feed(step, bucket, sums)        // when backward has finished the bucket
//	err = g.Deliver(m, chunk)               // in Handler.Deliver, for payloads of type wire.Chunk
//
// Done is called when sums holds the sum over all members. Ordered is the same for callers that wait, such as
// exec.Executor.ReduceAcross.
//
// # Refusals
//
// A chunk from another process may be false. A chunk is refused if its member, bucket, step or length
// is wrong, or if it is too far ahead. The error is a *Refused, which names the sender and the field, and the
// group is unchanged; the caller must drop the sender. Config.Ahead, Values and Stats bound the memory.
//
// # Decisions
//
//   - Every rank is a member, also where ranks share a process. Sums follow the same tree under every
//     placement, so sync keeps its bits. The price: chunks between members of one process are copied.
//   - Small buckets of a step travel together, up to 128 KiB, and one member sums them. Measured over
//     loopback on two cores, 3 to 8 members, 4 to 128 KiB: an exchange in one hop took 1.4 to 8 times as
//     long, a sum cut among the members 1.3 to 5 times. The price is two hops, and more work for the last
//     rank.
package allreduce
