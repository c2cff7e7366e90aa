package decode

import (
	"bytes"

	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/input"
)

// A LineDecoder decodes a line into r, which is reset, or says why it cannot. It is safe for
// concurrent use.
type LineDecoder func(line []byte, r *Row) *BadRow

// lineFormat is text with one row per line. Lines end in "\n" or "\r\n"; empty lines are
// ignored.
type lineFormat struct {
	schema *batch.Schema
	decode LineDecoder
}

func (f *lineFormat) rowsEnd(data []byte) int { return bytes.LastIndexByte(data, '\n') + 1 }

func (f *lineFormat) decodeRows(b *block) {
	b.out = newColumns(f.schema, b.lines+1)
	r, line := NewRow(f.schema), 0
	for rest := b.data; len(rest) > 0 && b.isWanted(); {
		var text []byte
		text, rest, _ = bytes.Cut(rest, []byte{'\n'})
		line++
		if len(text) >= input.RowBytesMax {
			b.err = &input.RowTooLong{Line: line}
			return
		}
		if text = bytes.TrimSuffix(text, []byte{'\r'}); len(text) == 0 {
			continue
		}
		r.Reset()
		if bad := f.decode(text, r); bad != nil {
			b.addBad(bad, line)
			continue
		}
		b.out.add(r)
	}
}
