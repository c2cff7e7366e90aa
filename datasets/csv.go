package datasets

import (
	"math"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/decode"
)

// csvFormat returns the format of delimited text that a job describes.
func csvFormat(t *job.Table) decode.Format {
	return decode.Format{Schema: tableSchema(t), Table: csvTable(t)}
}

// tableSchema returns the schema of a table that a job describes.
func tableSchema(t *job.Table) batch.Schema {
	return newSchema(t.SlotNames(), t.Numeric, t.LabelNames()...)
}

// csvTable returns how to split and decode a table that a job describes.
func csvTable(t *job.Table) *decode.Table {
	return &decode.Table{
		Delimiter: t.FieldDelimiter(), Comment: t.Comment, Columns: t.Columns,
		NewDecoder: func(header *decode.RecordReader) (decode.RecordDecoder,
			error) {
			return newCSVDecoder(t, t.LabelNames(), header)
		},
	}
}

// csvDecoder decodes the records of a table that a job describes.
type csvDecoder struct {
	table      *job.Table
	labelNames []string
	// Indexes of the columns in a record.
	slots   []int
	numeric []int
	labels  []int
	styles  []decode.Style // of numeric
	label   decode.LabelDecoder
}

// newCSVDecoder returns the decoder of a file with the columns of header, among them labels.
func newCSVDecoder(t *job.Table, labels []string, header *decode.RecordReader) (decode.RecordDecoder, error) {
	c := &csvDecoder{table: t, labelNames: labels}
	c.label = decode.NewLabelDecoder(t)
	c.styles = decode.StylesOf(t, t.Numeric)
	var err error
	if c.labels, err = header.Positions(c.labelNames); err != nil {
		return nil, err
	}
	if c.slots, err = header.Positions(t.SlotNames()); err != nil {
		return nil, err
	}
	c.numeric, err = header.Positions(t.Numeric)
	return c.decode, err
}

func (c *csvDecoder) decode(record []string, r *decode.Row) *decode.BadRow {
	for l, at := range c.labels {
		var reason string
		if r.Labels[l], reason = c.label(l, record[at]); reason != "" {
			return decode.BadField(c.labelNames[l], record[at], reason)
		}
	}
	for i, at := range c.numeric {
		text := record[at]
		if text == "" && c.table.EmptyNumeric != nil {
			r.Dense[i] = *c.table.EmptyNumeric
			continue
		}
		if slices.Contains(c.table.Missing, text) {
			r.Dense[i] = math.NaN() // until the mean is known
			continue
		}
		value, reason := c.styles[i].Parse(text)
		if reason != "" {
			return decode.BadField(c.table.Numeric[i], text, reason)
		}
		r.Dense[i] = value
	}
	for i, at := range c.slots {
		slot := c.table.Slots[i]
		if slot.Separator == byTime {
			key, reason := timeKey(record[at])
			if reason != "" {
				return decode.BadField(slot.Column, record[at], reason)
			}
			r.IDs[i] = append(r.IDs[i], key)
			continue
		}
		r.IDs[i] = appendIDs(r.IDs[i], record[at], slot)
	}
	return nil
}

// appendIDs appends the ids of one field.
func appendIDs(ids []uint64, field string, column job.IDColumn) []uint64 {
	add := func(text string) {
		if column.Whole {
			text = decode.WholeText(text)
		}
		ids = append(ids, CategoryID(text))
	}
	switch {
	case column.Separator == "":
		add(field)
	case field != "":
		for value := range strings.SplitSeq(field, column.Separator) {
			add(strings.TrimSpace(value))
		}
	}
	return ids
}
