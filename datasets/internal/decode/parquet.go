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

// parquetReader is the reader of programs that import package datasets/parquet, nil in others.
// Programs that read no Parquet do not link the library behind it, which takes longer to build
// than all other readers together.
var parquetReader ParquetReader

// RegisterParquet sets the reader. Package datasets/parquet calls it when it is imported.
func RegisterParquet(read ParquetReader) { parquetReader = read }

// Parquet returns the registered reader, or nil.
func Parquet() ParquetReader { return parquetReader }
