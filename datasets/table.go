package datasets

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"tandem/algo/numeric/batch"
)

// A recordDecoder fills r, which is reset, with the row of a record, or says
// what is wrong with it. The record has as many fields as the table has columns,
// and is valid until the decoder returns. Several goroutines use it at once.
type recordDecoder func(record []string, r *row) *BadRowError

// table is a kind of delimited text, with the quoting of RFC 4180.
type table struct {
	delimiter string // one character
	comment   string // likewise, or empty
	// columns names the fields; empty if the first record does.
	columns []string
	// mayRepeat says that the first record may be the names in columns.
	mayRepeat bool
	// decoder makes the decoder of a file whose columns are known.
	decoder func(*recordReader) (recordDecoder, error)
}

// begin returns the block that begins with the first row.
func (t *table) begin(schema *batch.Schema, cut *blockCutter) (rowFormat, *block, error) {
	f := &tableFormat{table: t, schema: schema, delimiter: []byte(t.delimiter)}
	comma, _ := utf8.DecodeRuneInString(t.delimiter)
	f.trims = !unicode.IsSpace(comma)
	cut.end = f.end
	begun := f.firstRecord(cut)
	if begun != nil && begun.err != nil {
		if tooLong, ok := begun.err.(*rowTooLong); ok {
			tooLong.line += cut.line
		}
		return nil, nil, cut.in.explain(begun.err)
	}
	var data []byte
	if begun != nil {
		data = begun.data
	}
	// Line ends stand for the lines before, so that errors count them.
	text := io.MultiReader(strings.NewReader(strings.Repeat("\n", cut.line)), bytes.NewReader(data))
	header, err := newRecordReader(&input{name: cut.in.name, text: text}, t.delimiter, t.comment, t.columns)
	if err != nil {
		return nil, nil, err
	}
	if f.columns = header.columns; len(t.columns) == 0 {
		read := int(header.records.InputOffset()) - cut.line
		cut.line += bytes.Count(data[:read], []byte{'\n'})
		begun.data = data[read:]
	}
	f.decode, err = t.decoder(header)
	return f, begun, err
}

// firstRecord returns the first block without the empty lines and comments
// before the first record; nil if there is no record.
func (f *tableFormat) firstRecord(cut *blockCutter) *block {
	for {
		cut.begun = false
		b := cut.block()
		if b == nil {
			return nil
		}
		for len(b.data) > 0 {
			line, rest, _ := bytes.Cut(b.data, []byte{'\n'})
			if len(bytes.TrimSuffix(line, []byte{'\r'})) > 0 && !f.isComment(line) {
				return b
			}
			cut.line++
			b.data = rest
		}
		if b.err != nil {
			return b
		}
	}
}

// tableFormat cuts one file of a table.
type tableFormat struct {
	table     *table
	schema    *batch.Schema
	columns   []string
	decode    recordDecoder
	delimiter []byte
	trims     bool // blanks before a field, and so before its quote, are dropped
}

// rows splits lines at the delimiter: without quotes that is all there is to
// records. With a quote anywhere in the block it has package csv read them.
func (f *tableFormat) rows(b *block) {
	b.out = newColumns(f.schema, b.lines+1)
	r := newRow(f.schema)
	take := func(record []string, line int) {
		if b.first && f.table.mayRepeat && b.out.samples+len(b.bad) == 0 && record[0] == f.columns[0] {
			b.first = false
			return
		}
		r.reset()
		if bad := f.decode(record, r); bad != nil {
			b.drop(bad, line)
			return
		}
		b.out.add(r)
	}
	if bytes.IndexByte(b.data, '"') >= 0 {
		f.quotedRows(b, take)
		return
	}
	record, line := make([]string, 0, len(f.columns)), 0
	for rest := b.data; len(rest) > 0 && b.wanted(); {
		var text []byte
		text, rest, _ = bytes.Cut(rest, []byte{'\n'})
		line++
		if len(text) >= rowBytesMax {
			b.err = &rowTooLong{line}
			return
		}
		text = bytes.TrimSuffix(text, []byte{'\r'})
		if len(text) == 0 || f.isComment(text) {
			continue
		}
		if record = f.split(text, record[:0]); len(record) != len(f.columns) {
			b.drop(badCount(len(record), len(f.columns)), line)
			continue
		}
		take(record, line)
	}
}

// quotedRows decodes the rows of a block with quotes.
func (f *tableFormat) quotedRows(b *block, take func(record []string, line int)) {
	text := &input{text: bytes.NewReader(b.data)}
	// Without a header to read there is no error.
	records, _ := newRecordReader(text, f.table.delimiter, f.table.comment, f.columns)
	begin := 0
	for b.wanted() {
		record, err := records.next()
		end := int(records.records.InputOffset())
		if end-begin >= rowBytesMax && f.tooLong(b.data[begin:end]) {
			b.err = &rowTooLong{records.line}
			return
		}
		begin = end
		var bad *BadRowError
		switch {
		case err == io.EOF:
			return
		case errors.As(err, &bad):
			b.drop(bad, records.line)
		default: // text in memory has no other error
			take(record, records.line)
		}
	}
}

// tooLong reports whether a record is too long without the lines before it, which package csv skips: empty
// ones and comments.
func (f *tableFormat) tooLong(data []byte) bool {
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		if len(bytes.TrimSuffix(line, []byte{'\r'})) > 0 && !f.isComment(line) {
			break
		}
		data = rest
	}
	return len(bytes.TrimSuffix(data, []byte{'\n'})) >= rowBytesMax
}

// split appends the fields of a line without quotes. They alias the line.
func (f *tableFormat) split(line []byte, fields []string) []string {
	for {
		n := bytes.Index(line, f.delimiter)
		field := line
		if n >= 0 {
			field = line[:n]
		}
		fields = append(fields, alias(bytes.TrimSpace(field)))
		if n < 0 {
			return fields
		}
		line = line[n+len(f.delimiter):]
	}
}

// alias returns text as a string that is valid as long as text does not change.
func alias(text []byte) string { return unsafe.String(unsafe.SliceData(text), len(text)) }

func (f *tableFormat) isComment(line []byte) bool {
	return f.table.comment != "" && bytes.HasPrefix(line, []byte(f.table.comment))
}

func (f *tableFormat) end(data []byte) int {
	last := bytes.LastIndexByte(data, '\n') + 1
	for whole := 0; ; {
		quote := bytes.IndexByte(data[whole:last], '"')
		if quote < 0 {
			return last
		}
		whole += bytes.LastIndexByte(data[whole:whole+quote], '\n') + 1
		n := f.recordEnd(data[whole:last])
		if n == 0 {
			return whole
		}
		whole += n
	}
}

// recordEnd returns where the record ends that data, whole lines of which the
// first has a quote, begin with; 0 if it does not end there. A quote where none
// may be ends the record, a bad row, with its line.
func (f *tableFormat) recordEnd(data []byte) int {
	end := bytes.IndexByte(data, '\n') + 1 // of the current line
	if f.isComment(data) {
		return end
	}
	for at := 0; ; {
		field := data[at:end]
		if f.trims {
			field = bytes.TrimLeftFunc(field, unicode.IsSpace)
			at = end - len(field)
		}
		if len(field) == 0 || field[0] != '"' {
			n := bytes.Index(field, f.delimiter)
			if n < 0 || bytes.IndexByte(field[:n], '"') >= 0 {
				return end
			}
			at += n + len(f.delimiter)
			continue
		}
		if at, end = closingQuote(data, at+1, end); at == 0 {
			return 0
		}
		if !bytes.HasPrefix(data[at:end], f.delimiter) {
			return end
		}
		at += len(f.delimiter)
	}
}

// closingQuote returns what follows the quote that closes the field which has
// been open since at in the line that ends at end, and the end of its line; 0 if
// nothing closes it.
func closingQuote(data []byte, at, end int) (after, lineEnd int) {
	for {
		n := bytes.IndexByte(data[at:], '"')
		if n < 0 {
			return 0, 0
		}
		at += n + 1
		if at >= len(data) || data[at] != '"' {
			break
		}
		at++
	}
	if at > end {
		end = at + bytes.IndexByte(data[at:], '\n') + 1
	}
	return at, end
}
