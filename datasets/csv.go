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

// csvReader reads delimited text as CSVSpec describes it, with the quoting of
// RFC 4180. Blanks around fields are dropped.
type csvReader struct {
	in      *input
	records *csv.Reader
	spec    *CSVSpec
	fields  int // in every row
	// Positions in the record of the columns that are used.
	slots   []int
	numeric []int
	label   int
	// Label texts.
	positive, negative []string
}

// newCSVReader reads the header, if the spec says that there is one.
func newCSVReader(in *input, spec *CSVSpec) (*csvReader, error) {
	c := &csvReader{in: in, records: csv.NewReader(in), spec: spec, positive: spec.Positive, negative: spec.Negative}
	if len(c.positive) == 0 {
		c.positive, c.negative = []string{"1"}, []string{"0"}
	}
	c.records.Comma, _ = utf8.DecodeRuneInString(spec.delimiter())
	if spec.Comment != "" {
		c.records.Comment, _ = utf8.DecodeRuneInString(spec.Comment)
	}
	c.records.FieldsPerRecord = -1 // counted here, to say what is wrong
	c.records.ReuseRecord = true
	// Needed for quotes after a blank; would swallow empty fields between blanks.
	c.records.TrimLeadingSpace = !unicode.IsSpace(c.records.Comma)
	columns := spec.Columns
	if len(columns) == 0 {
		header, err := c.records.Read()
		if err == io.EOF {
			return nil, fmt.Errorf("%s: %w: not even a header: check that the file is whole", in.name, ErrNoRows)
		}
		if err != nil {
			return nil, in.explain(err)
		}
		for _, name := range header {
			columns = append(columns, strings.TrimSpace(name))
		}
	}
	return c, c.find(columns)
}

// find looks up where the columns of the spec are.
func (c *csvReader) find(columns []string) error {
	c.fields = len(columns)
	position := func(name string) (int, error) {
		if i := slices.Index(columns, name); i >= 0 {
			return i, nil
		}
		return 0, fmt.Errorf("%s: no column %q: the file has %q", c.in.name, name, columns)
	}
	var err error
	if c.label, err = position(c.spec.Label); err != nil {
		return err
	}
	for _, slot := range c.spec.Slots {
		i, err := position(slot.Column)
		if err != nil {
			return err
		}
		c.slots = append(c.slots, i)
	}
	for _, name := range c.spec.Numeric {
		i, err := position(name)
		if err != nil {
			return err
		}
		c.numeric = append(c.numeric, i)
	}
	return nil
}

func (c *csvReader) next(r *row) error {
	record, err := c.records.Read()
	var syntax *csv.ParseError
	switch {
	case c.in.failed != nil:
		return c.in.explain(c.in.failed)
	case err == io.EOF:
		return io.EOF
	case errors.As(err, &syntax):
		return &BadRowError{File: c.in.name, Line: syntax.Line, Reason: syntax.Err.Error()}
	case err != nil:
		return c.in.explain(err)
	}
	line, _ := c.records.FieldPos(0)
	if len(record) != c.fields {
		return &BadRowError{File: c.in.name, Line: line, Reason: fmt.Sprintf("%d fields, want %d", len(record), c.fields)}
	}
	label := strings.TrimSpace(record[c.label])
	switch {
	case slices.Contains(c.positive, label):
		r.label = 1
	case slices.Contains(c.negative, label):
		r.label = 0
	default:
		reason := fmt.Sprintf("label must be one of %q and %q", c.positive, c.negative)
		return &BadRowError{File: c.in.name, Line: line, Column: c.spec.Label, Value: label, Reason: reason}
	}
	for i, at := range c.numeric {
		text := strings.TrimSpace(record[at])
		if text == "" && c.spec.EmptyNumeric != nil {
			r.dense[i] = *c.spec.EmptyNumeric
			continue
		}
		value, reason := parseNumber(text)
		if reason != "" {
			return &BadRowError{File: c.in.name, Line: line, Column: c.spec.Numeric[i], Value: text, Reason: reason}
		}
		r.dense[i] = value
	}
	for i, at := range c.slots {
		r.ids[i] = appendCategories(r.ids[i], strings.TrimSpace(record[at]), c.spec.Slots[i].Separator)
	}
	return nil
}

// appendCategories appends the ids of one field.
func appendCategories(ids []uint64, field, separator string) []uint64 {
	if separator == "" {
		return append(ids, CategoryID(field))
	}
	if field == "" {
		return ids
	}
	for value := range strings.SplitSeq(field, separator) {
		ids = append(ids, CategoryID(strings.TrimSpace(value)))
	}
	return ids
}
