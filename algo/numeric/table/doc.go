// Package table is one shard of an embedding table: rows of fixed size in
// memory that its owner provides, found by sign through an open-addressing
// index. Signs are found, copied and updated many at a time, by kernels that ask
// memory for the next while they work on the last; each has a plain form that
// leaves the same bits.
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
//     LookupStep create rows. Peek, which evaluation uses, changes nothing.
//   - Lookup, Peek and Apply allocate only when the table grows.
package table
