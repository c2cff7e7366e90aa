package decode

import (
	"fmt"
	"slices"

	"tandem/algo/job"
)

// A LabelDecoder returns the value of the label of a number, given its field as text, or says why the field
// is no label.
type LabelDecoder func(label int, field string) (value float32, reason string)

// NewLabelDecoder returns the decoder of the labels of a table: 1 and 0 for two classes of texts, or the
// numbers themselves.
func NewLabelDecoder(t *job.Table) LabelDecoder {
	if t.LabelValues == job.ClassLabels {
		positive, negative := t.LabelTexts()
		return func(_ int, field string) (float32, string) {
			switch {
			case slices.Contains(positive, field):
				return 1, ""
			case slices.Contains(negative, field):
				return 0, ""
			}
			return 0, fmt.Sprintf("label must be one of %q and %q", positive, negative)
		}
	}
	styles := StylesOf(t, t.LabelNames())
	return func(label int, field string) (float32, string) {
		x, reason := styles[label].Parse(field)
		if reason == "" && !(x >= 0 && x <= 1) {
			reason = "label must be a share, from 0 to 1"
		}
		return float32(x), reason
	}
}

// StylesOf returns how columns of a table write their numbers.
func StylesOf(t *job.Table, columns []string) []Style {
	styles := make([]Style, len(columns))
	for i, name := range columns {
		switch {
		case slices.Contains(t.DecimalComma, name):
			styles[i] = DecimalComma
		case slices.Contains(t.Thousands, name):
			styles[i] = Thousands
		}
	}
	return styles
}
