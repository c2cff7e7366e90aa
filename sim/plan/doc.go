// Package plan searches for the cheapest and the fastest cluster that does what is asked for.
//
// A space has families: a cluster's profile with one accelerator, kind of PS host and mode. Within a family,
// a cluster is a number of servers, and of hosts of embedding workers, embedding PSs and data loaders.
//
// # Branch and bound
//
// The search simulates the middle of what is not known. It relies on two properties, each with a slack, and
// is exact where they hold:
//
//   - More hosts of a role are not slower, but for 1 %. So no cluster of a box of numbers of hosts is faster
//     than that with the most of each, or cheaper an hour than that with the fewest. A box whose bound is
//     dearer than the best cluster that is known is left out; others are halved where that tells the most of
//     the price.
//   - k times the servers are at most k times as fast, but for a quarter, where the accelerators have all
//     rows that they are to have. So large clusters are simulated only if they could be better than what is
//     known.
//
// Where the rows that a job has on GPUs do not fit them, a space leaves slots to PSs. Of several divisions of
// a place, the fastest counts.
//
// The front of cheapest and fastest is a series of searches, each for a cluster that is a tenth faster than
// the one before, or more.
package plan
