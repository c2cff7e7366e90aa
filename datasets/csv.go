package datasets

import (
	"fmt"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// csvDecoder decodes delimited text as job.Table describes it. Blanks around fields
// are dropped.
type csvDecoder struct {
	spec       *job.Table
	labelNames []string
	// Positions in the record of the columns that are used.
	slots   []int
	numeric []int
	labels  []int
	// Label texts.
	positive, negative []string
}

// csvTable returns the table that a job describes.
func csvTable(s *job.Table) *table {
	decoder := func(header *recordReader) (recordDecoder, error) { return csvDecoderOf(s, header) }
	return &table{delimiter: s.FieldDelimiter(), comment: s.Comment, columns: s.Columns, decoder: decoder}
}

// csvDecoderOf returns the decoder of a file with a header.
func csvDecoderOf(s *job.Table, header *recordReader) (recordDecoder, error) {
	c := &csvDecoder{spec: s, labelNames: s.LabelNames()}
	c.positive, c.negative = s.LabelTexts()
	var err error
	if c.labels, err = header.positions(c.labelNames); err != nil {
		return nil, err
	}
	if c.slots, err = header.positions(s.SlotNames()); err != nil {
		return nil, err
	}
	c.numeric, err = header.positions(s.Numeric)
	return c.decode, err
}

func (c *csvDecoder) decode(record []string, r *row) *BadRowError {
	for l, at := range c.labels {
		switch label := record[at]; {
		case slices.Contains(c.positive, label):
			r.labels[l] = 1
		case slices.Contains(c.negative, label):
			r.labels[l] = 0
		default:
			return badField(c.labelNames[l], label, fmt.Sprintf("label must be one of %q and %q", c.positive, c.negative))
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
			return badField(c.spec.Numeric[i], text, reason)
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

// tableSchema returns the schema of a table that a job describes.
func tableSchema(t *job.Table) batch.Schema {
	return newSchema(t.SlotNames(), t.Numeric, t.LabelNames()...)
}
