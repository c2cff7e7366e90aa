package datasets

import (
	"bufio"
	"bytes"
	"io"

	"tandem/algo/batch"
)

// lineBytesMax bounds a line, so that a file without line ends is refused
// before it fills the memory.
const lineBytesMax = 1 << 20

// A lineDecoder fills r, which is reset, with the row of a line, or says what is
// wrong with it. Several goroutines use it at once.
type lineDecoder func(line []byte, r *row) *BadRowError

// lineFormat is that of files with one row a line, whatever the line holds.
// Lines end in "\n" or "\r\n"; empty ones are no rows.
type lineFormat struct {
	schema *batch.Schema
	decode lineDecoder
}

// end counts a line that is too long as whole, for rows to refuse.
func (f *lineFormat) end(data []byte) int {
	if n := bytes.LastIndexByte(data, '\n') + 1; n > 0 || len(data) < lineBytesMax {
		return n
	}
	return len(data)
}

func (f *lineFormat) rows(b *block) {
	b.out = newColumns(f.schema, b.lines+1)
	r, line := newRow(f.schema), 0
	for rest := b.data; len(rest) > 0 && b.wanted(); {
		var text []byte
		text, rest, _ = bytes.Cut(rest, []byte{'\n'})
		line++
		if len(text) >= lineBytesMax {
			b.err = bufio.ErrTooLong
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

// bad returns the error of the current line as a whole.
func (l *lineReader) bad(reason string) *BadRowError {
	return &BadRowError{File: l.in.name, Line: l.line, Reason: reason}
}
