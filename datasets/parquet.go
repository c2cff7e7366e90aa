package datasets

import (
	"fmt"
	"slices"

	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/decode"
	"tandem/datasets/internal/input"
)

// readParquet reads the rows of a Parquet file without the bad ones.
func (f *format) readParquet(path string, dropped *droppedRows) (*batch.Batch, error) {
	read := decode.Parquet()
	if read == nil {
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
	b, bad, err := read(file, info.Size(), f.table)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	policy := dropped.skip(path)
	for _, row := range bad {
		if err := policy.Bad(row); err != nil {
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
			func(e *decode.BadRow, line int) int { return e.Line - line })
		if !isBad {
			good = append(good, int32(row))
		}
	}
	return batch.NewGatherer(b).Rows(good), nil
}
