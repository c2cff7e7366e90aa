package datasets

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/internal/parallel"
)

// row is one decoded sample. Readers overwrite it row after row.
type row struct {
	ids    [][]uint64 // by slot
	dense  []float64  // by numeric column, not yet standardised
	labels []float32  // by label
}

func newRow(schema *batch.Schema) *row {
	return &row{ids: make([][]uint64, len(schema.Slots)), dense: make([]float64, len(schema.Dense)), labels: make([]float32, len(schema.Labels))}
}

func (r *row) reset() {
	for i := range r.ids {
		r.ids[i] = r.ids[i][:0]
	}
}

// format is how the files of a kind are read.
type format struct {
	schema batch.Schema
	// Files with one row a line have lines, which is told the name of the file;
	// tables of delimited text have table.
	lines func(name string) (lineDecoder, error)
	table *table
	// parquet is set for files that are no text; then there is neither.
	parquet bool
	// What the columns of a file depend on besides the file: kind, description and
	// the files of these names beside it.
	kind   job.DataKind
	spec   *job.Table
	beside []string
}

// read reads the rows of an input, which it does not close, on all processors.
// The result does not depend on their number. The dense values are not yet
// standardised.
func (f format) read(in *input, dropped *droppedRows) (*batch.Batch, error) {
	return f.readBlocks(in, dropped, parallel.Cores(), blockBytes)
}

// readBlocks reads with so many goroutines and blocks of a size.
func (f format) readBlocks(in *input, dropped *droppedRows, workers, size int) (*batch.Batch, error) {
	cut := &blockCutter{in: in, size: size, skip: dropped.policy.Skip}
	rows, begun, err := f.begin(cut)
	if err != nil {
		return nil, err
	}
	line, all := cut.line, newJoiner(&f.schema)
	err = decodeBlocks(cut, rows, begun, workers, func(b *block) error {
		for _, bad := range b.bad {
			bad.File, bad.Line = in.name, bad.Line+line
			if err := dropped.drop(bad); err != nil {
				return err
			}
		}
		if tooLong, ok := b.err.(*rowTooLong); ok {
			tooLong.line += line
		}
		if b.err != nil {
			return in.explain(b.err)
		}
		line += b.lines
		if err := all.add(b.out); err != nil {
			return fmt.Errorf("%s: %w", in.name, err)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case all.samples == 0:
		return nil, noRows(in.name, dropped)
	}
	return all.batch(workers), nil
}

// begin returns how to read the rows of an input, and its first block.
func (f format) begin(cut *blockCutter) (rowFormat, *block, error) {
	if f.table != nil {
		return f.table.begin(&f.schema, cut)
	}
	decode, err := f.lines(cut.in.name)
	if err != nil {
		return nil, nil, err
	}
	rows := &lineFormat{&f.schema, decode}
	cut.end = rows.end
	return rows, cut.block(), nil
}

// badField returns the error of a field; its place is filled in later.
func badField[T string | []byte](column string, value T, reason string) *BadRowError {
	return &BadRowError{Column: column, Value: strings.Clone(string(value)), Reason: reason}
}

// badWhole returns the error of a row as a whole.
func badWhole(reason string, args ...any) *BadRowError {
	return &BadRowError{Reason: fmt.Sprintf(reason, args...)}
}

// parseNumber reads a finite number that float32 can hold.
func parseNumber(text string) (value float64, reason string) {
	value, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, "not a number"
	case math.IsNaN(value) || math.Abs(value) > math.MaxFloat32:
		return 0, "not a finite 32-bit number"
	}
	return value, ""
}
