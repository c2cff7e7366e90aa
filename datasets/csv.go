package datasets

import (
	"fmt"
	"slices"
	"strings"
)

// csvReader reads delimited text as CSVSpec describes it. Blanks around fields
// are dropped.
type csvReader struct {
	records *recordReader
	spec    *CSVSpec
	// Positions in the record of the columns that are used.
	slots   []int
	numeric []int
	labels  []int
	// Label texts.
	positive, negative []string
}

// newCSVReader reads the header, if the spec says that there is one.
func newCSVReader(in *input, spec *CSVSpec) (*csvReader, error) {
	records, err := newRecordReader(in, spec.delimiter(), spec.Comment, spec.Columns)
	if err != nil {
		return nil, err
	}
	c := &csvReader{records: records, spec: spec, positive: spec.Positive, negative: spec.Negative}
	if len(c.positive) == 0 {
		c.positive, c.negative = []string{"1"}, []string{"0"}
	}
	if c.labels, err = records.positions(spec.labelNames()); err != nil {
		return nil, err
	}
	if c.slots, err = records.positions(spec.slotNames()); err != nil {
		return nil, err
	}
	c.numeric, err = records.positions(spec.Numeric)
	return c, err
}

func (c *csvReader) next(r *row) error {
	record, err := c.records.next()
	if err != nil {
		return err
	}
	for l, at := range c.labels {
		switch label := record[at]; {
		case slices.Contains(c.positive, label):
			r.labels[l] = 1
		case slices.Contains(c.negative, label):
			r.labels[l] = 0
		default:
			return c.records.bad(c.spec.labelNames()[l], label, fmt.Sprintf("label must be one of %q and %q", c.positive, c.negative))
		}
	}
	for i, at := range c.numeric {
		text := record[at]
		if text == "" && c.spec.EmptyNumeric != nil {
			r.dense[i] = *c.spec.EmptyNumeric
			continue
		}
		value, reason := parseNumber(text)
		if reason != "" {
			return c.records.bad(c.spec.Numeric[i], text, reason)
		}
		r.dense[i] = value
	}
	for i, at := range c.slots {
		r.ids[i] = appendCategories(r.ids[i], record[at], c.spec.Slots[i].Separator)
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
