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
	schema := newSchema(t.SlotNames(), t.Numeric, t.LabelNames()...)
	schema.Weight = t.WeightName()
	return schema
}

// csvTable returns how to split and decode a table that a job describes.
func csvTable(t *job.Table) *decode.Table {
	names, separators := t.SlotNames(), make([]string, len(t.Slots))
	for i, slot := range t.Slots {
		separators[i] = slot.Separator
	}
	if last := len(names) - 1; last >= 0 && separators[last] == byTime {
		names, separators = names[:last], separators[:last]
	}
	for _, name := range slices.Concat(t.Numeric, t.LabelNames(), []string{t.Weight, t.Impressions},
		t.SlotNames()) {
		if !slices.Contains(names, name) {
			names, separators = append(names, name), append(separators, "")
		}
	}
	return &decode.Table{
		Delimiter: t.FieldDelimiter(), Comment: t.Comment, Columns: t.Columns, Names: names,
		Separators: separators,
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
	// Columns of weights and of impressions, without which there is none.
	weight, impressions *weightColumn
}

// weightColumn is a column of numbers of at least 0.
type weightColumn struct {
	name  string
	index int
	style decode.Style
}

// parse returns the number of a record.
func (w *weightColumn) parse(record []string) (float32, *decode.BadRow) {
	x, reason := w.style.Parse(record[w.index])
	if reason == "" {
		reason = decode.CheckWeight(x)
	}
	if reason != "" {
		return 0, decode.BadField(w.name, record[w.index], reason)
	}
	return float32(x), nil
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
	if len(labels) > 0 {
		if c.weight, err = newWeightColumn(t, t.Weight, header); err != nil {
			return nil, err
		}
		if c.impressions, err = newWeightColumn(t, t.Impressions, header); err != nil {
			return nil, err
		}
	}
	c.numeric, err = header.Positions(t.Numeric)
	return c.decode, err
}

// newWeightColumn returns a column of weights, nil if it has no name.
func newWeightColumn(t *job.Table, name string, header *decode.RecordReader) (*weightColumn, error) {
	if name == "" {
		return nil, nil
	}
	at, err := header.Positions([]string{name})
	if err != nil {
		return nil, err
	}
	return &weightColumn{name, at[0], decode.StylesOf(t, []string{name})[0]}, nil
}

// decodeLabels decodes the labels and the weight of a record.
func (c *csvDecoder) decodeLabels(record []string, r *decode.Row) (bad *decode.BadRow) {
	for l, at := range c.labels {
		var reason string
		if r.Labels[l], reason = c.label(l, record[at]); reason != "" {
			return decode.BadField(c.labelNames[l], record[at], reason)
		}
	}
	r.Weight = 1
	if c.weight != nil {
		if r.Weight, bad = c.weight.parse(record); bad != nil {
			return bad
		}
	}
	if c.impressions == nil {
		return nil
	}
	impressions, bad := c.impressions.parse(record)
	if bad != nil {
		return bad
	}
	r.Weight *= impressions
	for l, at := range c.labels {
		var reason string
		if r.Labels[l], reason = decode.Share(r.Labels[l], impressions); reason != "" {
			return decode.BadField(c.labelNames[l], record[at], reason)
		}
	}
	return nil
}

func (c *csvDecoder) decode(record []string, r *decode.Row) *decode.BadRow {
	if bad := c.decodeLabels(record, r); bad != nil {
		return bad
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
