package datasets

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"tandem/algo/numeric/batch"
)

// rowBytesMax bounds a row of text, its line end apart: a row of so many bytes is refused, so that a file
// without line ends, or with a quote that nothing closes, does not fill the memory.
const rowBytesMax = 1 << 20

// rowTooLong is the error of a row of rowBytesMax bytes or more.
type rowTooLong struct{ line int } // that it begins with, from the first of its block, then of its file

// Error says what to do.
func (e *rowTooLong) Error() string {
	const form = "a row is longer than %d bytes: check that the file has the given kind, and closes its quotes"
	return fmt.Sprintf(form, rowBytesMax-1)
}

// A lineDecoder fills r, which is reset, with the row of a line, or says what is
// wrong with it. Several goroutines use it at once.
type lineDecoder func(line []byte, r *row) *BadRowError

// lineFormat is that of files with one row a line, whatever the line holds.
// Lines end in "\n" or "\r\n"; empty ones are no rows.
type lineFormat struct {
	schema *batch.Schema
	decode lineDecoder
}

func (f *lineFormat) end(data []byte) int { return bytes.LastIndexByte(data, '\n') + 1 }

func (f *lineFormat) rows(b *block) {
	b.out = newColumns(f.schema, b.lines+1)
	r, line := newRow(f.schema), 0
	for rest := b.data; len(rest) > 0 && b.wanted(); {
		var text []byte
		text, rest, _ = bytes.Cut(rest, []byte{'\n'})
		line++
		if len(text) >= rowBytesMax {
			b.err = &rowTooLong{line}
			return
		}
		if text = bytes.TrimSuffix(text, []byte{'\r'}); len(text) == 0 {
			continue
		}
		r.reset()
		if bad := f.decode(text, r); bad != nil {
			b.drop(bad, line)
			continue
		}
		b.out.add(r)
	}
}

// lineReader gives the lines of an input one by one, for what is no table of
// rows.
type lineReader struct {
	in   *input
	scan *bufio.Scanner
	line int // number of the current line, from 1
}

func newLineReader(in *input) *lineReader {
	scan := bufio.NewScanner(in)
	scan.Buffer(make([]byte, 0, 1<<16), rowBytesMax)
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
	if err := l.scan.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, l.in.explain(&rowTooLong{l.line + 1})
	} else if err != nil {
		return nil, l.in.explain(err)
	}
	return nil, io.EOF
}

// bad returns the error of the current line as a whole.
func (l *lineReader) bad(reason string) *BadRowError {
	return &BadRowError{File: l.in.name, Line: l.line, Reason: reason}
}
