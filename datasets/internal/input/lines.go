package input

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// RowBytesMax bounds a row of text without its line end: a row of this many bytes is an
// error. Otherwise a file without line ends, or with a quote that is never closed, would
// fill the memory.
const RowBytesMax = 1 << 20

// RowTooLong is the error for a row of RowBytesMax bytes or more.
type RowTooLong struct {
	Line int // where the row begins, from 1, in its block and later in its file
}

// Error tells the user what to check.
func (e *RowTooLong) Error() string {
	const form = "a row is longer than %d bytes: check that the file has the given kind, and closes " +
		"its quotes"
	return fmt.Sprintf(form, RowBytesMax-1)
}

// LineReader reads an input line by line. Tables of rows are read in parallel, by package
// decode; a LineReader is for everything else.
type LineReader struct {
	in   *Input
	scan *bufio.Scanner
	line int
}

// NewLineReader returns a reader of the lines of an input.
func NewLineReader(in *Input) *LineReader {
	scan := bufio.NewScanner(in)
	scan.Buffer(make([]byte, 0, 1<<16), RowBytesMax)
	return &LineReader{in: in, scan: scan}
}

// Line returns the number of the current line, from 1.
func (l *LineReader) Line() int { return l.line }

// NextLine returns the next non-empty line without its end, or io.EOF. The line is valid
// until the next call.
func (l *LineReader) NextLine() ([]byte, error) {
	for l.scan.Scan() && l.in.Failed == nil {
		l.line++
		if text := l.scan.Bytes(); len(text) > 0 {
			return text, nil
		}
	}
	if err := l.scan.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, l.in.Explain(&RowTooLong{l.line + 1})
	} else if err != nil {
		return nil, l.in.Explain(err)
	}
	return nil, io.EOF
}
