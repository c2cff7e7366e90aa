package datasets

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"tandem/algo/batch"
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

// rowReader decodes the rows of one input.
type rowReader interface {
	// next fills r, which is reset, with the next row. It returns io.EOF after
	// the last row and a *BadRowError for a row that cannot be used, after which
	// it may be called again. Any other error is final.
	next(r *row) error
}

// readRows reads all rows of an input. The dense values of the result are not
// yet standardised.
func readRows(name string, reader rowReader, schema *batch.Schema, dropped *droppedRows) (*batch.Batch, error) {
	out := &batch.Batch{Slots: make([]batch.Jagged, len(schema.Slots))}
	for s := range out.Slots {
		out.Slots[s].Offsets = []int32{0}
	}
	r := newRow(schema)
	for {
		r.reset()
		err := reader.next(r)
		var bad *BadRowError
		switch {
		case err == io.EOF && out.Samples == 0 && len(dropped.first) > 0:
			return nil, fmt.Errorf("%s: %w: all are bad: %v", name, ErrNoRows, dropped.first[len(dropped.first)-1])
		case err == io.EOF && out.Samples == 0:
			return nil, fmt.Errorf("%s: %w: check that the file is whole and of the given kind", name, ErrNoRows)
		case err == io.EOF:
			return out, nil
		case errors.As(err, &bad):
			if err := dropped.drop(bad); err != nil {
				return nil, err
			}
			continue
		case err != nil:
			return nil, err
		}
		if err := appendRow(out, r); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
}

func appendRow(out *batch.Batch, r *row) error {
	for s, ids := range r.ids {
		slot := &out.Slots[s]
		if len(slot.IDs)+len(ids) > math.MaxInt32 || out.Samples == math.MaxInt32-1 {
			return fmt.Errorf("more than %d ids in one column: split the file", math.MaxInt32)
		}
		slot.IDs = append(slot.IDs, ids...)
		slot.Offsets = append(slot.Offsets, int32(len(slot.IDs)))
	}
	for _, value := range r.dense {
		out.Dense = append(out.Dense, float32(value))
	}
	out.Labels = append(out.Labels, r.labels...)
	out.Samples++
	return nil
}

// lineReader counts the lines of an input, for readers that work line by line.
type lineReader struct {
	in   *input
	scan *bufio.Scanner
	line int // number of the current line, from 1
}

func newLineReader(in *input) *lineReader {
	scan := bufio.NewScanner(in)
	scan.Buffer(make([]byte, 0, 1<<16), lineBytesMax)
	return &lineReader{in: in, scan: scan}
}

// next returns the next line that is not empty, without its end, valid until
// the next call; io.EOF after the last.
func (l *lineReader) next() ([]byte, error) {
	for l.scan.Scan() && l.in.failed == nil {
		l.line++
		if text := l.scan.Bytes(); len(text) > 0 {
			return text, nil
		}
	}
	if err := l.scan.Err(); err != nil {
		return nil, l.in.explain(err)
	}
	return nil, io.EOF
}

// bad returns the error of a field of the current line.
func (l *lineReader) bad(column string, value []byte, reason string) *BadRowError {
	return &BadRowError{File: l.in.name, Line: l.line, Column: column, Value: string(value), Reason: reason}
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
