// Package route maps the ids of a batch to embedding rows, and the gradients of the model input back to the
// rows.
//
// Route finds the distinct signs of a rank's batch and the PS that owns each;
// Pool turns their rows into model input; Merge turns the gradients of that
// input into one gradient sum per distinct row; Combine, on the PS, turns the
// sums of all ranks into the gradients that the optimizer sees. Sums are taken
// along the tree of package collective, so they do not depend on the number of
// ranks or PSs.
//
// # Decisions
//
//   - A counting sort finds once where the rows of a batch occur (Occurrences). Rows are spread and gradients
//     summed by it, a few rows at a time, and one kernel adds the gradients of a row along the tree over
//     groups.
//   - Where one process reads and updates, as in sequential training, no copy of rows or sums is written: see
//     LookupEach and ApplyFrom of package table. Roles pass whole payloads, so between them the copies
//     remain. Joining the rows of two PSs takes an EW little time.
package route
