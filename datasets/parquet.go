package datasets

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/decode"
	"tandem/datasets/internal/input"
)

// errNoParquet is the error of programs that do not link the reader.
func errNoParquet(path string) error {
	return fmt.Errorf("%s: this program reads no Parquet: import tandem/datasets/parquet in its "+
		"main package", path)
}

// readParquet reads the rows of a Parquet file without the bad ones.
func (f *format) readParquet(path string, dropped *droppedRows) (*batch.Batch, error) {
	read, _ := decode.Parquet()
	if read == nil {
		return nil, errNoParquet(path)
	}
	file, err := input.OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, bad, err := read(file, file.Size(), f.table)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	good, err := goodRows(b, f.checkWeights(b, bad, 0), 0, dropped.skip(path))
	if err == nil && good.Samples == 0 {
		err = noRows(path, dropped)
	}
	return good, err
}

// IsParquet reports whether a file is a Parquet file, by its first bytes.
func IsParquet(path string) (bool, error) { return input.IsParquet(path) }

// OpenParquet opens a Parquet file that no job describes.
func OpenParquet(path string) (decode.ParquetTable, io.Closer, error) {
	open := decode.OpenParquet()
	if open == nil {
		return nil, nil, errNoParquet(path)
	}
	file, err := input.OpenFile(path)
	if err != nil {
		return nil, nil, err
	}
	table, err := open(file, file.Size())
	if err != nil {
		file.Close()
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return table, file, nil
}

// ParquetHead returns the names of the columns of a Parquet file and its first rows as text, at most a number
// of them. Columns that no job can use are empty.
func ParquetHead(path string, rows int) (columns []string, first [][]string, err error) {
	file, closer, err := OpenParquet(path)
	if err != nil {
		return nil, nil, err
	}
	defer closer.Close()
	first = make([][]string, min(rows, file.Rows()))
	for i, c := range file.Columns() {
		columns = append(columns, c.Name)
		for row := range first {
			first[row] = append(first[row], "")
		}
		if c.Problem != "" {
			continue
		}
		if err := file.Texts(i, len(first), func(row int, text string) { first[row][i] = text }); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return columns, first, nil
}

// groupRows is the number of rows of a block of a Parquet file that is streamed.
const groupRows = 1 << 12

// parquetGroups passes the good rows of a Parquet file to use, block by block, with the share of the file
// that they and those before them are.
func (f *format) parquetGroups(path string, dropped *droppedRows,
	use func(rows *batch.Batch, share float64) error) error {
	_, read := decode.Parquet()
	if read == nil {
		return errNoParquet(path)
	}
	file, err := input.OpenFile(path)
	if err != nil {
		return err
	}
	defer file.Close()
	policy := dropped.skip(path)
	err = read(file, file.Size(), f.table, func(b *batch.Batch, bad []*decode.BadRow, first,
		total int) error {
		good, err := goodRows(b, f.checkWeights(b, bad, first), first, policy)
		if err != nil {
			return err
		}
		for lo := 0; lo < good.Samples; lo += groupRows {
			hi := min(lo+groupRows, good.Samples)
			share := float64(first+hi) / float64(total) // less than it is by the bad rows of this group
			if err := use(batch.Slice(good, lo, hi), share); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, ErrBadRow) {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return err
}

// goodRows returns the rows without the bad ones, if the policy allows these. A number of rows is before
// them in the file.
func goodRows(b *batch.Batch, bad []*decode.BadRow, first int, policy decode.Skip) (*batch.Batch, error) {
	for _, row := range bad {
		if err := policy.Bad(row); err != nil {
			return nil, err
		}
	}
	if len(bad) == 0 {
		return b, nil
	}
	good := make([]int32, 0, b.Samples-len(bad))
	for row := range b.Samples {
		_, isBad := slices.BinarySearchFunc(bad, first+row+1,
			func(e *decode.BadRow, line int) int { return e.Line - line })
		if !isBad {
			good = append(good, int32(row))
		}
	}
	return batch.NewGatherer(b).Rows(good), nil
}
