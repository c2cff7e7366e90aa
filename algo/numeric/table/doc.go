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
//     RemoveRows and AddRows move rows between tables, with all their bits.
//   - Lookup, Snapshot and Apply allocate only when the table grows.
//
// # Decisions
//
//   - A row lies beside its header, and the index stores 32 bits of the sign's hash and a row number. Eight
//     slots are a cache line. The index grows by a fifth in place, without a second copy and without reading
//     rows. The price is 24 bytes a row beside embedding and state.
//   - Eviction is second chance, where Persia keeps the exact order of last use. It takes one bit a row
//     instead of two links, and has as many hits on Zipf ids. In return, sync equals sequential with eviction
//     only on one PS with as many ranks.
//   - Several tables can share a bound (Room). Each keeps room for its first rows and evicts its own, as
//     slabs do not move between tables. The price is that a table whose rows are rare may keep them longer
//     than the order of reads over all tables would, and that a table that comes late, when others have
//     taken the room, has no more than its first rows for good.
//   - Narrow rows round at random, keyed by (seed, sign, updates, element). Small updates add up on average,
//     and bits depend on neither order nor shards. Each element and update takes a random number.
//   - Narrow rows are widened, updated by the kernels of float32 and rounded, 32 rows at a time. There is one
//     kernel for each optimizer, and updates take a half to a fifth of the time of row by row. Values pass
//     the first cache three times, and a chunk with an absent row is updated row by row.
//   - Which rows have changed between two freezes follows from their headers (changes.go), which the second
//     one compares with what the first has noted. Updates do nothing for it. A freeze reads all headers.
//   - Rows expire by the mark of second chance (ExpireAt), which takes no memory and no time of reads, so a
//     row may stay for twice as long as it must. The price: all marks change at once, and with them all rows
//     for the next CopyChanged.
//   - Admission by a count keeps signs whole and counts steps (candidates.go), so that no row comes too
//     early, and neither ranks nor shards change which come. A sketch would take less for each sign, and err.
//   - Admission by a probability is drawn by (seed, id, step), so all ranks and shards of a step agree and a
//     run can be repeated. An id may be admitted later than by a count.
//   - The pool of the matrix products shares large batches of rows (Config.Pool). Several cores serve one PS
//     with the same bits: rows that exist are read side by side, absent ones are created afterwards, in their
//     order. A table that evicts shares nothing, because there the order of reads decides what remains.
package table
