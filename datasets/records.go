package datasets

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// recordReader cuts delimited text into fields, with the quoting of RFC 4180.
type recordReader struct {
	in      *input
	records *csv.Reader
	columns []string // names of the fields
	line    int      // of the current record, from 1
}

// newRecordReader reads the header, if no columns are given.
func newRecordReader(in *input, delimiter, comment string, columns []string) (*recordReader, error) {
	r := &recordReader{in: in, records: csv.NewReader(in), columns: columns}
	r.records.Comma, _ = utf8.DecodeRuneInString(delimiter)
	if comment != "" {
		r.records.Comment, _ = utf8.DecodeRuneInString(comment)
	}
	r.records.FieldsPerRecord = -1 // counted here, to say what is wrong
	r.records.ReuseRecord = true
	// Needed for quotes after a blank; would swallow empty fields between blanks.
	r.records.TrimLeadingSpace = !unicode.IsSpace(r.records.Comma)
	if len(columns) > 0 {
		return r, nil
	}
	header, err := r.records.Read()
	if err == io.EOF {
		return nil, fmt.Errorf("%s: %w: not even a header: check that the file is whole", in.name, ErrNoRows)
	}
	if err != nil {
		return nil, in.explain(err)
	}
	for _, name := range header {
		r.columns = append(r.columns, strings.TrimSpace(name))
	}
	return r, nil
}

// position returns where a column is.
func (r *recordReader) position(name string) (int, error) {
	if i := slices.Index(r.columns, name); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("%s: no column %q: the file has %q", r.in.name, name, r.columns)
}

// positions returns where each of the columns is.
func (r *recordReader) positions(names []string) ([]int, error) {
	at := make([]int, len(names))
	for i, name := range names {
		var err error
		if at[i], err = r.position(name); err != nil {
			return nil, err
		}
	}
	return at, nil
}

// next returns the fields of the next record, without the blanks around them,
// valid until the next call; io.EOF after the last. A record with a wrong
// number of fields is a bad row.
func (r *recordReader) next() ([]string, error) {
	record, err := r.records.Read()
	var syntax *csv.ParseError
	switch {
	case r.in.failed != nil:
		return nil, r.in.explain(r.in.failed)
	case err == io.EOF:
		return nil, io.EOF
	case errors.As(err, &syntax):
		r.line = syntax.Line
		return nil, badWhole("%s", syntax.Err)
	case err != nil:
		return nil, r.in.explain(err)
	}
	r.line, _ = r.records.FieldPos(0)
	if len(record) != len(r.columns) {
		return nil, badCount(len(record), len(r.columns))
	}
	for i := range record {
		record[i] = strings.TrimSpace(record[i])
	}
	return record, nil
}

// badCount returns the error of a record with a wrong number of fields.
func badCount(fields, want int) *BadRowError { return badWhole("%d fields, want %d", fields, want) }

// binaryLabel reads a label that is 0 or 1.
func binaryLabel(text string) (label float32, ok bool) {
	switch text {
	case "0":
		return 0, true
	case "1":
		return 1, true
	}
	return 0, false
}
