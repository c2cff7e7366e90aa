package datasets

import (
	"fmt"
	"io"
	"slices"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// A ParquetReader reads the columns that a spec names of a Parquet file. The
// batch has all of its rows, those that cannot be used with any content; of each
// of these, bad has the first thing that is wrong, in the order of rows, counted
// as lines from 1. Ids are those of the same values written as text.
type ParquetReader func(name string, file io.ReaderAt, size int64, spec *job.Table) (b *batch.Batch, bad []*BadRowError, err error)

// readParquet is the reader of programs that link package datasets/parquet. It is
// set when the program starts, and so kept out of those that read no Parquet:
// the library behind it takes longer to build than all readers together.
var readParquet ParquetReader

// RegisterParquet is for package datasets/parquet, which calls it on import.
func RegisterParquet(read ParquetReader) { readParquet = read }

// readParquetFile reads the rows of a Parquet file, less the bad ones.
func (f *format) readParquetFile(path string, dropped *droppedRows) (*batch.Batch, error) {
	if readParquet == nil {
		return nil, fmt.Errorf("%s: this program reads no Parquet: import tandem/datasets/parquet in its main package", path)
	}
	file, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	b, bad, err := readParquet(path, file, info.Size(), f.spec)
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
		_, isBad := slices.BinarySearchFunc(bad, row+1, func(e *BadRowError, line int) int { return e.Line - line })
		if !isBad {
			good = append(good, int32(row))
		}
	}
	return batch.NewGatherer(b).Rows(good), nil
}

// noRows returns the error of a file in which no row is good.
func noRows(name string, dropped *droppedRows) error {
	if len(dropped.first) > 0 {
		return fmt.Errorf("%s: %w: all are bad: %v", name, ErrNoRows, dropped.first[len(dropped.first)-1])
	}
	return fmt.Errorf("%s: %w: check that the file is whole and of the given kind", name, ErrNoRows)
}
