package datasets

import (
	"errors"
	"fmt"

	"tandem/algo/job"
)

// ErrBadRow is what every BadRowError wraps.
var ErrBadRow = errors.New("bad row")

// ErrNoRows says that a file or data set holds no sample.
var ErrNoRows = errors.New("no rows")

// BadRowError says which field of which row could not be used.
type BadRowError struct {
	File   string
	Line   int    // 1 for the first line of the decompressed file
	Column string // name of the column; empty when the row as a whole is bad
	Value  string // the field as read; empty when the row as a whole is bad
	Reason string // what is wrong with it and what would be right
}

// Error returns file, line, column, value and reason in one line. Long values
// are cut.
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

// droppedRows counts the bad rows of one data set against the policy.
type droppedRows struct {
	policy job.OnBadRow
	count  int
	first  []*BadRowError // at most badRowsKept
	// The same of the file in hand: a count before it, and its first few.
	before int
	ofFile []*BadRowError
}

// nextFile begins to count those of the next file.
func (d *droppedRows) nextFile() { d.before, d.ofFile = d.count, nil }

// badRowsKept bounds the bad rows that are remembered in full.
const badRowsKept = 5

// drop returns nil if the policy lets the row go, and else the error to report.
func (d *droppedRows) drop(bad *BadRowError) error {
	if d.count < d.policy.Skip {
		d.count++
		if len(d.first) < badRowsKept {
			d.first = append(d.first, bad)
		}
		if len(d.ofFile) < badRowsKept {
			d.ofFile = append(d.ofFile, bad)
		}
		return nil
	}
	if d.count > 0 {
		return fmt.Errorf("%w (on-bad-row allows %d and as many were skipped before)", bad, d.policy.Skip)
	}
	return bad
}
