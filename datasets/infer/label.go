package infer

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tandem/datasets/internal/decode"
)

// labels counts the texts of the label column, up to one more than there can be.
type labels struct {
	rule   *positiveRule // nil: the texts decide
	all    []string
	counts []int
}

// add counts a text and reports whether it is the first one of the file or, with a rule, of the class of the
// first one.
func (l *labels) add(text string) (first bool) {
	at := slices.Index(l.all, text)
	if at < 0 {
		if len(l.all) > labelsMost {
			return false
		}
		at, l.all, l.counts = len(l.all), append(l.all, text), append(l.counts, 0)
	}
	l.counts[at]++
	if l.rule != nil {
		return l.rule.holds(text) == l.rule.holds(l.all[0])
	}
	return at == 0
}

const (
	// labelsShown is the number of values that the message about a label with too many lists.
	labelsShown = 5
	// labelsMost is the number of values of a label that a rule makes two of.
	labelsMost = 20
	// ordersMost is the number of ordered values from which a message proposes a rule.
	ordersMost = 10
	// strayRows is the number of rows with another label than 1 and 0 that are taken for malformed in any
	// table.
	strayRows = 2
)

// positives are texts that mean a positive label beside any other text.
var positives = []string{"1", "1.0", "true", "t", "yes", "y", "positive", "click", "clicked"}

// classes are the texts of positive and of negative rows.
type classes struct{ positive, negative []string }

// classes returns the texts of positive and of negative rows, each at least one. Where neither a rule nor a
// text says which are positive, it is the rarer one of two.
func (l *labels) classes(column string, rows int) (c classes, err error) {
	empty := slices.IndexFunc(l.all, func(text string) bool { return text == "" || isMissing(text) })
	one, zero := slices.Index(l.all, "1"), slices.Index(l.all, "0")
	switch {
	case l.rule == nil && one >= 0 && zero >= 0 &&
		rows-l.counts[one]-l.counts[zero] <= max(rows/100, strayRows):
		return classes{[]string{"1"}, []string{"0"}}, nil // the reader reports the few other rows
	case empty >= 0 && len(l.all) > 1:
		return c, fmt.Errorf("label %q is missing, %q, in some rows: leave these rows out of the file",
			column, l.all[empty])
	case l.rule != nil:
		return l.byRule(column)
	case len(l.all) == 1:
		return c, fmt.Errorf("label %q is %q in all %d rows that were read, so there is nothing to "+
			"learn: shuffle a sorted file, or name another label", column, l.all[0], rows)
	case len(l.all) > 2:
		return c, l.tooMany(column)
	}
	positive := 0
	if l.counts[1] < l.counts[0] {
		positive = 1
	}
	for i, text := range l.all {
		if slices.Contains(positives, strings.ToLower(text)) {
			positive = i
			break
		}
	}
	return classes{l.all[positive : positive+1], l.all[1-positive : 2-positive]}, nil
}

// tooMany returns the error for a label with more than two values. Of a few numbers it proposes a rule.
func (l *labels) tooMany(column string) error {
	var numbers []float64
	for _, text := range l.all {
		if x, reason := decode.ParseNumber(text); reason == "" {
			numbers = append(numbers, x)
		}
	}
	if len(numbers) < len(l.all) || len(numbers) > ordersMost {
		return fmt.Errorf("label %q has more than two values, such as %q: a label has two", column,
			l.all[:min(len(l.all), labelsShown)])
	}
	slices.Sort(numbers)
	return fmt.Errorf("label %q has %d values, from %v to %v: say which are positive, as with "+
		"--positive '>=%v'", column, len(numbers), numbers[0], numbers[len(numbers)-1],
		numbers[len(numbers)*3/5])
}

// byRule returns the texts of both classes by a rule.
func (l *labels) byRule(column string) (c classes, err error) {
	if len(l.all) > labelsMost {
		return c, fmt.Errorf("label %q has more than %d values, such as %q: write 1 and 0 in the file",
			column, labelsMost, l.all[:labelsShown])
	}
	for _, text := range l.all {
		if _, reason := decode.ParseNumber(text); reason != "" && l.rule.texts == nil {
			return c, fmt.Errorf("label %q is %q in some rows, which is no number: a comparison cannot say "+
				"whether it is positive", column, text)
		}
		if l.rule.holds(text) {
			c.positive = append(c.positive, text)
		} else {
			c.negative = append(c.negative, text)
		}
	}
	if len(c.positive) == 0 || len(c.negative) == 0 {
		class := "positive"
		if len(c.positive) == 0 {
			class = "negative"
		}
		return c, fmt.Errorf("label %q has the values %q, which are all %s", column, l.all, class)
	}
	return c, nil
}

// share returns the share of the rows with one of the texts.
func (l *labels) share(texts []string, rows int) float64 {
	count := 0
	for i, text := range l.all {
		if slices.Contains(texts, text) {
			count += l.counts[i]
		}
	}
	return float64(count) / float64(rows)
}

// positiveRule says which labels are positive: these texts, or the numbers that compare so with a limit.
type positiveRule struct {
	texts   []string
	compare string // >=, >, <= or <
	limit   float64
}

// parsePositive parses a rule: texts between commas, or a comparison such as >=4.
func parsePositive(text string) (*positiveRule, error) {
	match := regexp.MustCompile(`^\s*([<>]=?)(.*)$`).FindStringSubmatch(text)
	if match == nil {
		return &positiveRule{texts: strings.Split(text, ",")}, nil
	}
	limit, err := strconv.ParseFloat(strings.TrimSpace(match[2]), 64)
	if err != nil || math.IsNaN(limit) {
		return nil, fmt.Errorf("%q: want texts, as in yes,maybe, or a comparison with a number, as in >=4",
			text)
	}
	return &positiveRule{compare: match[1], limit: limit}, nil
}

// holds reports whether a label is positive.
func (r *positiveRule) holds(text string) bool {
	if r.texts != nil {
		return slices.Contains(r.texts, text)
	}
	x, reason := decode.ParseNumber(text)
	if reason != "" {
		return false
	}
	switch r.compare {
	case ">=":
		return x >= r.limit
	case ">":
		return x > r.limit
	case "<=":
		return x <= r.limit
	}
	return x < r.limit
}
