package decode

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/input"
)

// A RecordDecoder decodes a record into r, which is reset, or says why it cannot. The record
// has one field per column of the file and is valid until the decoder returns. A decoder is
// safe for concurrent use.
type RecordDecoder func(record []string, r *Row) *BadRow

// Table is delimited text with the quoting of RFC 4180, or JSON lines.
type Table struct {
	Delimiter string // one character
	Comment   string // one character that begins comment lines, or empty
	// Columns are the names of the fields; empty if the first record holds them.
	Columns []string
	// OptionalHeader is set if the first record may, but need not, hold the names in Columns.
	OptionalHeader bool
	// Names are the columns that the decoder reads of JSON lines; without them the table is none. Separators
	// are those of columns that may have lists.
	Names, Separators []string
	// NewDecoder returns the decoder of a file, given its columns.
	NewDecoder func(*RecordReader) (RecordDecoder, error)
}

// begin returns how to decode the rows of an input, and the block that begins with the first
// row.
func (t *Table) begin(schema *batch.Schema, cut *blockCutter) (rowFormat, *block, error) {
	if cut.in.JSON {
		return t.beginJSON(schema, cut)
	}
	f := &tableFormat{table: t, schema: schema, delimiter: []byte(t.Delimiter)}
	comma, _ := utf8.DecodeRuneInString(t.Delimiter)
	f.trims = !unicode.IsSpace(comma)
	cut.rowsEnd = f.rowsEnd
	first := f.firstRecord(cut)
	if first != nil && first.err != nil {
		if tooLong, ok := first.err.(*input.RowTooLong); ok {
			tooLong.Line += cut.line
		}
		return nil, nil, cut.in.Explain(first.err)
	}
	var data []byte
	if first != nil {
		data = first.data
	}
	// Line ends replace the skipped lines, so that errors have the right line numbers.
	text := io.MultiReader(strings.NewReader(strings.Repeat("\n", cut.line)), bytes.NewReader(data))
	header, err := NewRecordReader(input.Plain(cut.in.Name, text), t.Delimiter, t.Comment, t.Columns)
	if err != nil {
		return nil, nil, err
	}
	if f.columns = header.Columns; len(t.Columns) == 0 {
		read := int(header.records.InputOffset()) - cut.line
		cut.line += bytes.Count(data[:read], []byte{'\n'})
		first.data = data[read:]
	}
	f.decode, err = t.NewDecoder(header)
	return f, first, err
}

// beginJSON is begin for JSON lines.
func (t *Table) beginJSON(schema *batch.Schema, cut *blockCutter) (rowFormat, *block, error) {
	decode, err := t.NewDecoder(&RecordReader{in: cut.in, Columns: t.Names})
	if err != nil {
		return nil, nil, err
	}
	f := newJSONFormat(t, schema, decode)
	cut.rowsEnd = f.rowsEnd
	return f, cut.nextBlock(), nil
}

// firstRecord returns the first block without the empty lines and comments before the first
// record, or nil if there is no record.
func (f *tableFormat) firstRecord(cut *blockCutter) *block {
	for {
		cut.hasBegun = false
		b := cut.nextBlock()
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

// RowCutter returns a function that returns the end of the last whole record of delimited text, which begins
// with a record and whose last line may be torn, or 0 if no record is whole. Without a delimiter, a record is
// a line.
func RowCutter(delimiter, comment string) func(text []byte) int {
	if delimiter == "" {
		return new(lineFormat).rowsEnd
	}
	comma, _ := utf8.DecodeRuneInString(delimiter)
	f := &tableFormat{table: &Table{Comment: comment}, delimiter: []byte(delimiter),
		trims: !unicode.IsSpace(comma)}
	return f.rowsEnd
}

// tableFormat splits and decodes the records of one file.
type tableFormat struct {
	table     *Table
	schema    *batch.Schema
	columns   []string
	decode    RecordDecoder
	delimiter []byte
	trims     bool // blanks before a field, and so before its quote, are skipped
}

// decodeRows splits lines at the delimiter, which is correct for a block without quotes. A
// block with a quote anywhere is read with encoding/csv.
func (f *tableFormat) decodeRows(b *block) {
	b.out = newColumns(f.schema, b.lines+1)
	r := NewRow(f.schema)
	decode := func(record []string, line int) {
		if b.first && f.table.OptionalHeader && b.out.samples+len(b.bad) == 0 && record[0] == f.columns[0] {
			b.first = false
			return
		}
		r.Reset()
		if bad := r.fill(record, f.decode, f.schema); bad != nil {
			b.addBad(bad, line)
			return
		}
		b.out.add(r)
	}
	if bytes.IndexByte(b.data, '"') >= 0 {
		f.decodeQuoted(b, decode)
		return
	}
	record, line := make([]string, 0, len(f.columns)), 0
	for rest := b.data; len(rest) > 0 && b.isWanted(); {
		var text []byte
		text, rest, _ = bytes.Cut(rest, []byte{'\n'})
		line++
		if len(text) >= input.RowBytesMax {
			b.err = &input.RowTooLong{Line: line}
			return
		}
		text = bytes.TrimSuffix(text, []byte{'\r'})
		if len(text) == 0 || f.isComment(text) {
			continue
		}
		if record = f.split(text, record[:0]); len(record) != len(f.columns) {
			b.addBad(badCount(len(record), len(f.columns)), line)
			continue
		}
		decode(record, line)
	}
}

// decodeQuoted decodes the rows of a block with quotes.
func (f *tableFormat) decodeQuoted(b *block, decode func(record []string, line int)) {
	text := input.Plain("", bytes.NewReader(b.data))
	// NewRecordReader fails only if it reads a header.
	records, _ := NewRecordReader(text, f.table.Delimiter, f.table.Comment, f.columns)
	begin := 0
	for b.isWanted() {
		record, err := records.NextRecord()
		end := int(records.records.InputOffset())
		if end-begin >= input.RowBytesMax && f.tooLong(b.data[begin:end]) {
			b.err = &input.RowTooLong{Line: records.line}
			return
		}
		begin = end
		var bad *BadRow
		switch {
		case err == io.EOF:
			return
		case errors.As(err, &bad):
			b.addBad(bad, records.line)
		default: // reading from memory has no other error
			decode(record, records.line)
		}
	}
}

// tooLong reports whether a record is too long without the empty lines and comments before
// it, which encoding/csv skips.
func (f *tableFormat) tooLong(data []byte) bool {
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		if len(bytes.TrimSuffix(line, []byte{'\r'})) > 0 && !f.isComment(line) {
			break
		}
		data = rest
	}
	return len(bytes.TrimSuffix(data, []byte{'\n'})) >= input.RowBytesMax
}

// split appends the fields of a line without quotes; they alias the line.
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

// alias returns text as a string, valid while text does not change.
func alias(text []byte) string { return unsafe.String(unsafe.SliceData(text), len(text)) }

func (f *tableFormat) isComment(line []byte) bool {
	return f.table.Comment != "" && bytes.HasPrefix(line, []byte(f.table.Comment))
}

// rowsEnd implements rowFormat: it skips line ends within quotes.
func (f *tableFormat) rowsEnd(data []byte) int {
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

// recordEnd returns the end of the first record of data, or 0 if it does not end in data.
// Data are whole lines, the first of which has a quote. After a misplaced quote, the record
// ends with its line and is a bad row.
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

// closingQuote returns the position behind the quote that closes a field, and the end of the
// line of that quote; 0 if no quote closes it. The content of the field begins at at, in a
// line that ends at end.
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
