package datasets

import (
	"errors"
	"fmt"

	"tandem/algo/job"
	"tandem/datasets/internal/decode"
)

// ErrBadRow is wrapped by every BadRowError.
var ErrBadRow = errors.New("bad row")

// ErrNoRows says that a file or data set holds no sample.
var ErrNoRows = decode.ErrNoRows

// BadRowError says which field of which row cannot be used.
type BadRowError struct {
	File   string
	Line   int    // of the decompressed file, from 1; for Parquet, the row
	Column string // name of the column; empty if the row as a whole is bad
	Value  string // the field as read; empty if the row as a whole is bad
	Reason string // the problem, and what would be valid
}

// Error returns file, line, column, value and reason in one line. It shortens long values.
func (e *BadRowError) Error() string {
	const valueBytesMax = 40
	if e.Column == "" {
		return fmt.Sprintf("%s:%d: bad row: %s", e.File, e.Line, e.Reason)
	}
	value, more := e.Value, ""
	if len(value) > valueBytesMax {
		value, more = value[:valueBytesMax], "…"
	}
	return fmt.Sprintf("%s:%d: bad row: column %s: %q%s: %s", e.File, e.Line, e.Column, value, more, e.Reason)
}

// Unwrap returns ErrBadRow.
func (e *BadRowError) Unwrap() error { return ErrBadRow }

// droppedRows counts the bad rows of one data set.
type droppedRows struct {
	policy job.OnBadRow
	count  int
	first  []*BadRowError // at most badRowsKept
	// countBefore is the count before the current file, and firstOfFile the first few of the
	// current file.
	countBefore int
	firstOfFile []*BadRowError
}

// badRowsKept is the number of bad rows that are reported in full.
const badRowsKept = 5

// nextFile begins the count of the next file.
func (d *droppedRows) nextFile() { d.countBefore, d.firstOfFile = d.count, nil }

// skip returns the policy for the rows of a file of text.
func (d *droppedRows) skip(file string) decode.Skip {
	return decode.Skip{Allowed: d.policy.Skip, Bad: func(bad *decode.BadRow) error {
		return d.drop(&BadRowError{File: file, Line: bad.Line, Column: bad.Column, Value: bad.Value,
			Reason: bad.Reason})
	}}
}

// drop counts a bad row. It returns an error if the policy does not allow it.
func (d *droppedRows) drop(bad *BadRowError) error {
	if d.count < d.policy.Skip {
		d.count++
		if len(d.first) < badRowsKept {
			d.first = append(d.first, bad)
		}
		if len(d.firstOfFile) < badRowsKept {
			d.firstOfFile = append(d.firstOfFile, bad)
		}
		return nil
	}
	if d.count > 0 {
		return fmt.Errorf("%w (on-bad-row allows %d and as many were skipped before)", bad, d.policy.Skip)
	}
	return bad
}

// noRows returns the error for a file without a good row.
func noRows(name string, dropped *droppedRows) error {
	if len(dropped.first) > 0 {
		return fmt.Errorf("%s: %w: all are bad: %v", name, ErrNoRows, dropped.first[len(dropped.first)-1])
	}
	return fmt.Errorf("%s: %w: check that the file is whole and of the given kind", name, ErrNoRows)
}
