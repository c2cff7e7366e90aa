// Package datasets opens the data set that a job describes: files of public data sets, the user's own CSV or
// Parquet files, or generated rows.
//
// Open reads a data set into memory, column by column: a file is decompressed and decoded on all cores, and
// only ids, numbers and labels are kept. TrainingSource then returns the training rows as the global batches
// of a job. NewSource does the same for programs that set batch size, epochs and order themselves.
//
// # Ids
//
// The id of a category is a 64-bit hash of its text (CategoryID), never an index into a vocabulary. So
// training rows, test rows and tomorrow's file agree on ids without sharing anything. The prefix that
// distinguishes slots is added later, when ids become signs. The hash is FNV-1a, and may not change, because
// caches hold the ids.
//
// # Numbers
//
// Numeric columns are standardised with the mean and the standard deviation of the training rows, which
// Dataset.Scaling records. Test rows are scaled with the same numbers.
package datasets
