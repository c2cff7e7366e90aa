package datasets

import (
	"fmt"
	"io"
	"slices"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/input"
)

// A ParquetReader reads the columns that columns names from a Parquet file. The batch has all
// rows of the file; the content of a bad row is arbitrary. For every bad row, bad has the
// first problem, in the order of rows, with the number of the row, from 1, as its line. Ids
// are those of the same values written as text.
type ParquetReader func(name string, file io.ReaderAt, size int64, columns *job.Table) (
	b *batch.Batch, bad []*BadRowError, err error)

// parquetReader is the reader of programs that import package datasets/parquet, nil in others.
// Programs that read no Parquet do not link the library behind it, which takes longer to build
// than all other readers together.
var parquetReader ParquetReader

// RegisterParquet is for package datasets/parquet, which calls it when it is imported.
func RegisterParquet(read ParquetReader) { parquetReader = read }

// readParquet reads the rows of a Parquet file without the bad ones.
func (f *format) readParquet(path string, dropped *droppedRows) (*batch.Batch, error) {
	if parquetReader == nil {
		return nil, fmt.Errorf("%s: this program reads no Parquet: import tandem/datasets/parquet in its "+
			"main package", path)
	}
	file, err := input.OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	b, bad, err := parquetReader(path, file, info.Size(), f.table)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, one := range bad {
		one.File = path
		if err := dropped.drop(one); err != nil {
			return nil, err
		}
	}
	if len(bad) == b.Samples {
		return nil, noRows(path, dropped)
	}
	if len(bad) == 0 {
		return b, nil
	}
	good := make([]int32, 0, b.Samples-len(bad))
	for row := range b.Samples {
		_, isBad := slices.BinarySearchFunc(bad, row+1,
			func(e *BadRowError, line int) int { return e.Line - line })
		if !isBad {
			good = append(good, int32(row))
		}
	}
	return batch.NewGatherer(b).Rows(good), nil
}
