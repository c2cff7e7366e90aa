package infer

import (
	"fmt"
	"slices"
	"strings"
)

// labels counts the texts of the label column, up to one more than there can be.
type labels struct {
	all    []string
	counts []int
}

// add counts a text and reports whether it is the first one of the file.
func (l *labels) add(text string) (first bool) {
	at := slices.Index(l.all, text)
	if at < 0 {
		if len(l.all) > labelsShown {
			return false
		}
		at, l.all, l.counts = len(l.all), append(l.all, text), append(l.counts, 0)
	}
	l.counts[at]++
	return at == 0
}

// labelsShown is the number of values that the message about a label with too many lists.
const labelsShown = 5

// strayRows is the number of rows with another label than 1 and 0 that are taken for malformed in any table.
const strayRows = 2

// positives are texts that mean a positive label beside any other text.
var positives = []string{"1", "1.0", "true", "t", "yes", "y", "positive", "click", "clicked"}

// texts returns the texts of positive and of negative rows. Where no text says which is positive, it is the
// rarer one.
func (l *labels) texts(column string, rows int) (positive, negative string, err error) {
	empty := slices.IndexFunc(l.all, func(text string) bool { return text == "" || isMissing(text) })
	one, zero := slices.Index(l.all, "1"), slices.Index(l.all, "0")
	switch {
	case one >= 0 && zero >= 0 && rows-l.counts[one]-l.counts[zero] <= max(rows/100, strayRows):
		return "1", "0", nil // the reader reports the few other rows
	case empty >= 0 && len(l.all) > 1:
		return "", "", fmt.Errorf("label %q is missing, %q, in some rows: leave these rows out of the file",
			column, l.all[empty])
	case len(l.all) == 1:
		return "", "", fmt.Errorf("label %q is %q in all %d rows that were read, so there is nothing to "+
			"learn: shuffle a sorted file, or name another label", column, l.all[0], rows)
	case len(l.all) > 2:
		return "", "", fmt.Errorf("label %q has more than two values, such as %q: a label has two", column,
			l.all[:min(len(l.all), labelsShown)])
	}
	for i, text := range l.all {
		if slices.Contains(positives, strings.ToLower(text)) {
			return text, l.all[1-i], nil
		}
	}
	if l.counts[0] <= l.counts[1] {
		return l.all[0], l.all[1], nil
	}
	return l.all[1], l.all[0], nil
}

// share returns the share of the rows with a text.
func (l *labels) share(text string, rows int) float64 {
	return float64(l.counts[slices.Index(l.all, text)]) / float64(rows)
}

// isFirst reports whether a text is the first one of the file.
func (l *labels) isFirst(text string) bool { return l.all[0] == text }
