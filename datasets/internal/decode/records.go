package decode

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tandem/datasets/internal/input"
)

// RecordReader splits delimited text into records of fields, with the quoting of RFC 4180, or JSON lines.
type RecordReader struct {
	Columns []string // names of the fields
	in      *input.Input
	records *csv.Reader
	json    *jsonReader // of JSON lines, in place of records
	line    int
}

// NewRecordReader returns a reader of records. Without columns it reads the header. The columns of JSON lines
// are the names that their first thousand rows have.
func NewRecordReader(in *input.Input, delimiter, comment string, columns []string) (*RecordReader, error) {
	if in.JSON {
		lines, err := newJSONReader(in)
		if err != nil {
			return nil, err
		}
		return &RecordReader{in: in, json: lines, Columns: lines.names}, nil
	}
	r := &RecordReader{in: in, records: csv.NewReader(in), Columns: columns}
	r.records.Comma, _ = utf8.DecodeRuneInString(delimiter)
	if comment != "" {
		r.records.Comment, _ = utf8.DecodeRuneInString(comment)
	}
	r.records.FieldsPerRecord = -1 // NextRecord counts them, for a better message
	r.records.ReuseRecord = true
	// Quotes after a blank need it; empty fields between blanks as delimiters forbid it.
	r.records.TrimLeadingSpace = !unicode.IsSpace(r.records.Comma)
	if len(columns) > 0 {
		return r, nil
	}
	header, err := r.records.Read()
	if err == io.EOF {
		return nil, fmt.Errorf("%s: %w: not even a header: check that the file is whole", in.Name, ErrNoRows)
	}
	if err != nil {
		return nil, in.Explain(err)
	}
	r.line, _ = r.records.FieldPos(0)
	for _, name := range header {
		if !utf8.ValidString(name) {
			return nil, fmt.Errorf("%s: its first line is not UTF-8, in %q: convert the file, as with "+
				"iconv -f LATIN1 -t UTF-8", in.Name, name)
		}
		if strings.Contains(name, "\x00") {
			return nil, fmt.Errorf("%s: its first line has zero bytes, in %q: convert the file, as with "+
				"iconv -f UTF-32 -t UTF-8", in.Name, name)
		}
		r.Columns = append(r.Columns, strings.TrimSpace(name))
	}
	return r, nil
}

// Kind returns the kind of a column by the records so far. Lists are known of JSON lines, whose values then
// have ListSeparator between them. A problem says why a column cannot be used.
func (r *RecordReader) Kind(column int) (kind ValueKind, problem string) {
	switch {
	case r.json == nil:
		return AnyText, ""
	case r.json.kinds.objects[column]:
		return AnyText, "objects of JSON"
	case r.json.kinds.lists[column]:
		return List, ""
	}
	return AnyText, ""
}

// ReadOnly makes a reader of JSON lines read one column alone, whose lists have a separator. A row without
// the column has an empty field. It changes nothing for delimited text.
func (r *RecordReader) ReadOnly(column, separator string) {
	if r.json != nil {
		r.Columns = []string{column}
		r.json.jsonColumns = newJSONColumns(r.Columns, []string{separator})
		r.json.kinds = nil
	}
}

// Line returns the line at which the current record begins, from 1: at first the header, or 0 without one.
func (r *RecordReader) Line() int { return r.line }

// Position returns the index of a column in a record.
func (r *RecordReader) Position(name string) (int, error) {
	if i := slices.Index(r.Columns, name); i >= 0 {
		return i, nil
	}
	place := r.in.Name
	if r.line > 0 {
		place = fmt.Sprintf("%s:%d", place, r.line)
	}
	return 0, fmt.Errorf("%s: no column %q: the file has %q", place, name, r.Columns)
}

// Positions returns the index of each of the columns in a record.
func (r *RecordReader) Positions(names []string) ([]int, error) {
	at := make([]int, len(names))
	for i, name := range names {
		var err error
		if at[i], err = r.Position(name); err != nil {
			return nil, err
		}
	}
	return at, nil
}

// NextRecord returns the fields of the next record without surrounding blanks, or io.EOF.
// They are valid until the next call. A record with a wrong number of fields is a *BadRow.
func (r *RecordReader) NextRecord() (record []string, err error) {
	if r.json != nil {
		record, r.line, err = r.json.next()
		return record, err
	}
	return r.nextRecord()
}

// nextRecord is NextRecord of delimited text.
func (r *RecordReader) nextRecord() ([]string, error) {
	record, err := r.records.Read()
	var syntax *csv.ParseError
	switch {
	case r.in.Failed != nil:
		return nil, r.in.Explain(r.in.Failed)
	case err == io.EOF:
		return nil, io.EOF
	case errors.As(err, &syntax):
		r.line = syntax.Line
		return nil, BadRecord("%s", syntax.Err)
	case err != nil:
		return nil, r.in.Explain(err)
	}
	r.line, _ = r.records.FieldPos(0)
	if len(record) != len(r.Columns) {
		return nil, badCount(len(record), len(r.Columns))
	}
	for i := range record {
		record[i] = strings.TrimSpace(record[i])
	}
	return record, nil
}

// RemainingRecords returns the fields of all further records as they are written, right or
// wrong, up to the first syntax error.
func (r *RecordReader) RemainingRecords() (records [][]string) {
	for {
		record, err := r.read()
		if err != nil {
			return records
		}
		records = append(records, slices.Clone(record))
	}
}

// read returns the next record as it is written.
func (r *RecordReader) read() ([]string, error) {
	if r.json != nil {
		return r.NextRecord()
	}
	return r.records.Read()
}

// badCount returns the BadRow for a record with a wrong number of fields.
func badCount(fields, want int) *BadRow { return BadRecord("%d fields, want %d", fields, want) }
