package datasets

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/decode"
	"tandem/datasets/internal/input"
	"tandem/datasets/internal/spool"
	"tandem/internal/parallel"
)

// blocks reads a file once and returns its good rows, which stay on disk: of plain text in the
// file, of all others in a temporary file (package spool). It calls use with the rows of every
// block, in the order of the file. An object that a URL names is read once, into a temporary file.
func (f *format) blocks(path string, dropped *droppedRows, use func(*batch.Batch) error) (blocks, error) {
	if f.kind == job.KindParquet {
		return f.spool(use, func(add func(*batch.Batch) error) error {
			return f.parquetGroups(path, dropped, func(b *batch.Batch, _ float64) error { return add(b) })
		})
	}
	in, err := input.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if in.Compression+in.Encoding != "" || job.IsURL(path) {
		return f.spool(use, func(add func(*batch.Batch) error) error {
			return f.Each(in, dropped.skip(in.Name), parallel.Cores(), decode.BlockBytes, add)
		})
	}
	index, err := f.Index(in, dropped.skip(in.Name), parallel.Cores(), decode.BlockBytes, use)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path) // closed with the last reference to the blocks
	return indexed{index, file}, err
}

// spoolFolder returns the folder of temporary files of rows: beside the cached columns or, on
// systems without a home folder, that of all temporary files. The latter is often in memory.
func spoolFolder() string {
	folder, err := CacheFolder()
	if err != nil {
		return filepath.Join(os.TempDir(), "tandem")
	}
	return filepath.Join(filepath.Dir(folder), "rows")
}

// weightedSlots reports of each slot whether its ids have weights.
func weightedSlots(schema *batch.Schema) []bool {
	weighted := make([]bool, len(schema.Slots))
	for s, slot := range schema.Slots {
		weighted[s] = slot.Weighted
	}
	return weighted
}

// spool keeps the rows that read passes to add in a temporary file, and passes them to use.
func (f *format) spool(use func(*batch.Batch) error, read func(add func(*batch.Batch) error) error) (
	blocks, error) {
	rows, err := spool.Create(spoolFolder(), weightedSlots(&f.Schema), len(f.Schema.Dense),
		len(f.Schema.Labels), f.Schema.Weight != "")
	if err != nil {
		return nil, fmt.Errorf("stream: %w: set XDG_CACHE_HOME to a folder for temporary rows", err)
	}
	err = read(func(block *batch.Batch) error {
		if err := rows.Add(block); err != nil {
			return err
		}
		return use(block)
	})
	if err != nil {
		return nil, cmp.Or(err, rows.Close())
	}
	return rows, nil
}
