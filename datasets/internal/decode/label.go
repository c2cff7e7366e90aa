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
// numbers themselves, which are counts if the table has impressions.
func NewLabelDecoder(t *job.Table) LabelDecoder {
	if t.LabelValues == job.ClassLabels && t.Impressions == "" {
		positive, negative := t.LabelTexts()
		return func(_ int, field string) (float32, string) {
			switch {
			case slices.Contains(positive, field):
				return 1, ""
			case slices.Contains(negative, field):
				return 0, ""
			}
			return 0, fmt.Sprintf("label must be one of %q and %q; in a job file, positive and negative "+
				"beside label name others", positive, negative)
		}
	}
	styles := StylesOf(t, t.LabelNames())
	return func(label int, field string) (float32, string) {
		x, reason := styles[label].Parse(field)
		switch {
		case reason != "":
		case t.Impressions != "":
			reason = CheckWeight(x)
		case t.LabelValues == job.ShareLabels && !(x >= 0 && x <= 1):
			reason = "label must be a share, from 0 to 1"
		}
		return float32(x), reason
	}
}

// CheckWeight says why a number is no weight or count, or returns "".
func CheckWeight(x float64) (reason string) {
	if !(x >= 0) {
		return "must be at least 0"
	}
	return ""
}

// Share returns the share of impressions that were clicked, or says why there is none. Of no impressions it
// is 0, and their row has no weight.
func Share(clicks, impressions float32) (share float32, reason string) {
	switch {
	case clicks > impressions:
		return 0, fmt.Sprintf("must be at most the number of impressions, %v", impressions)
	case impressions == 0:
		return 0, ""
	}
	return clicks / impressions, ""
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
