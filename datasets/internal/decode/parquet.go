package decode

import (
	"io"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// A ParquetReader reads the columns that a job names from a Parquet file. The batch has all rows
// of the file; the content of a bad row is arbitrary. For every bad row, bad has the first
// problem, in the order of rows, with the number of the row, from 1, as its line. Ids are the ids
// of the same values written as text.
type ParquetReader func(file io.ReaderAt, size int64, columns *job.Table) (
	b *batch.Batch, bad []*BadRow, err error)

// ParquetGroups reads as a ParquetReader does, but one row group after the other: it calls use with
// the rows and the bad rows of each, and with the number of rows before them and in the file. Bad rows
// have their numbers in the file. An error of use ends it.
type ParquetGroups func(file io.ReaderAt, size int64, columns *job.Table,
	use func(b *batch.Batch, bad []*BadRow, first, total int) error) error

// parquetReader and parquetGroups are the readers of programs that import package datasets/parquet, nil
// in others. Programs that read no Parquet do not link the library behind it, which takes longer to build
// than all other readers together.
var (
	parquetReader ParquetReader
	parquetGroups ParquetGroups
)

// RegisterParquet sets the readers. Package datasets/parquet calls it when it is imported.
func RegisterParquet(read ParquetReader, groups ParquetGroups) {
	parquetReader, parquetGroups = read, groups
}

// Parquet returns the registered readers, or nil.
func Parquet() (ParquetReader, ParquetGroups) { return parquetReader, parquetGroups }
