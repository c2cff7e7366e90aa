// Package table is one shard of an embedding table: rows of fixed size, found by
// sign through an open-addressing index, in memory that the owner of the table
// provides (Arena).
//
//	t, err := table.New(table.Config{Dim: 16, Optimizer: adagrad, Seed: 1}, table.Heap{})
//	err = t.Lookup(signs, embeddings)                  // creates absent rows
//	outcome := t.Apply(signs, grads, t.Rate(step), nil) // updates rows
//
// Kernels find, copy and update many signs at a time, and prefetch the next rows
// while they work on the last. Each kernel has a form in portable Go with the same
// bits.
//
// A row is
//
//	sign (8 bytes) ‖ valid flag, mark and update count (4 bytes) ‖ embedding ‖ optimizer state
//
// where embedding and state are float32. Rows live in slabs of equal size that
// never move, so growth copies no row, and every row describes itself, so the
// index can be rebuilt from the rows.
//
// # Contract
//
//   - A table has one owner at a time: no method may run beside one that changes
//     the table. Parallelism is across shards.
//   - A row's initial values follow from (seed, sign) alone. The order in which
//     rows appear, and the number of shards that they are spread over, change
//     no value.
//   - Only Apply changes a row, and only on a finite gradient. Only Lookup and
//     LookupStep create rows. Snapshot, which evaluation uses, changes nothing.
//   - Lookup, Snapshot and Apply allocate only when the table grows.
package table
