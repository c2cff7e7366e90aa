package datasets

import (
	"fmt"
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
	schema := featureSchema(t, t.LabelNames()...)
	schema.Weight = t.WeightName()
	return schema
}

// featureSchema returns the schema of a table with some labels and without weights of rows.
func featureSchema(t *job.Table, labels ...string) batch.Schema {
	schema := newSchema(t.SlotNames(), t.Numeric, labels...)
	for i, slot := range t.Slots {
		schema.Slots[i].Weighted = slot.Weighted()
	}
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
	for _, slot := range t.Slots {
		if slot.Weights != "" {
			names, separators = append(names, slot.Weights), append(separators, slot.Separator)
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
	weights []int // of the ids of each slot; −1: no column
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
	for _, slot := range t.Slots {
		at := -1
		if slot.Weights != "" {
			if at, err = header.Position(slot.Weights); err != nil {
				return nil, err
			}
		}
		c.weights = append(c.weights, at)
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
		if !slot.Weighted() {
			r.IDs[i] = appendIDs(r.IDs[i], record[at], slot)
			continue
		}
		weights := ""
		if w := c.weights[i]; w >= 0 {
			weights = record[w]
		}
		var bad *decode.BadRow
		r.IDs[i], r.IDWeights[i], bad = appendWeighted(r.IDs[i], r.IDWeights[i], record[at], weights, slot)
		if bad != nil {
			return bad
		}
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

// appendWeighted appends the ids of one field of a column whose ids have weights, and these weights: those of
// a field of a column of their own, or behind the ids.
func appendWeighted(ids []uint64, weights []float32, field, weightField string, column job.IDColumn) (
	[]uint64, []float32, *decode.BadRow) {
	if column.Weights == "" {
		return appendInline(ids, weights, field, column)
	}
	ids = appendIDs(ids, field, column)
	texts := []string{weightField}
	if column.Separator != "" {
		if texts = nil; weightField != "" {
			texts = strings.Split(weightField, column.Separator)
		}
	}
	for _, text := range texts {
		weight, reason := decode.ParseNumber(strings.TrimSpace(text))
		if reason != "" {
			return ids, weights, decode.BadField(column.Weights, text, "a weight of an id: "+reason)
		}
		weights = append(weights, float32(weight))
	}
	if len(weights) != len(ids) {
		return ids, weights, decode.BadField(column.Weights, weightField, fmt.Sprintf("%d weights, and the "+
			"column %s has %d ids in this row", len(weights), column.Column, len(ids)))
	}
	return ids, weights, nil
}

// appendInline is appendWeighted where a weight stands behind its id.
func appendInline(ids []uint64, weights []float32, field string, column job.IDColumn) (_ []uint64,
	_ []float32, bad *decode.BadRow) {
	eachText(field, job.IDColumn{Separator: column.Separator}, func(text string) {
		id, written, found := cutWeight(text, column.WeightSeparator)
		weight, reason := 1.0, ""
		if found {
			weight, reason = decode.ParseNumber(written)
		}
		if reason != "" && bad == nil {
			bad = decode.BadField(column.Column, text, fmt.Sprintf("behind %q stands the weight of an id: %s",
				column.WeightSeparator, reason))
		}
		if column.Whole {
			id = decode.WholeText(id)
		}
		ids, weights = append(ids, CategoryID(id)), append(weights, float32(weight))
	})
	return ids, weights, bad
}

// cutWeight cuts the text of an id with a weight, which stands behind the last separator, if there is one.
func cutWeight(text, separator string) (id, weight string, found bool) {
	at := strings.LastIndex(text, separator)
	if separator == "" || at < 0 {
		return text, "", false
	}
	return strings.TrimSpace(text[:at]), strings.TrimSpace(text[at+len(separator):]), true
}
