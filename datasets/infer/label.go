package infer

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tandem/algo/job"
	"tandem/datasets/internal/decode"
)

// labels counts the rows of each text of the label column, of at most labelsMost + 1 texts.
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
	// labelsMost is the largest number of values that a rule may divide into two classes.
	labelsMost = 20
	// ordersMost is the number of ordered values from which a message proposes a rule.
	ordersMost = 10
	// strayRows is the number of rows with another label than 1 and 0 that are taken for malformed in any
	// table.
	strayRows = 2
)

// labelColumn says what the labels are, in the description of the table and in the column that it returns,
// and whether the first one is positive.
func (t *tally) labelColumn(table *Table) (c Column, firstIsPositive bool, err error) {
	v, spec := t.columns[t.label], table.spec
	spec.Label, c = v.name, Column{Name: v.name, Use: Label, Distinct: len(v.distinct)}
	if t.impressions != "" {
		return t.clicks(c, table)
	}
	if values := t.valuesOf(v, spec.Delimiter); values != job.ClassLabels {
		style, ok := v.style(spec.Delimiter)
		if !ok {
			return c, false, fmt.Errorf("label %q has other values than numbers, such as %q: leave "+
				"--label-values %s out", v.name, t.labels.shown(), values)
		}
		n := &v.numbers[style]
		spec.LabelValues, table.LabelMean = values, n.sum/float64(n.count)
		c.Why, c.style, c.remarkable = "shares between 0 and 1", style, true
		if values == job.NumberLabels {
			c.Why = "numbers, learned by squared loss"
		}
		noteStyle(spec, c)
		return c, false, v.isComplete()
	}
	classes, err := t.labels.classes(v.name, t.rows)
	if err != nil {
		return c, false, err
	}
	if !slices.Equal(classes.positive, []string{"1"}) || !slices.Equal(classes.negative, []string{"0"}) {
		spec.Positive, spec.Negative = classes.positive, classes.negative
	}
	table.LabelMean = t.labels.share(classes.positive, t.rows)
	c.Distinct = len(classes.positive) + len(classes.negative)
	c.Why = fmt.Sprintf("%s is positive, %s negative", strings.Join(classes.positive, ", "),
		strings.Join(classes.negative, ", "))
	return c, slices.Contains(classes.positive, t.labels.all[0]), nil
}

// classLabels is the Options.LabelValues of two classes.
const classLabels = "classes"

// valuesOf returns what the labels of a column are: what was asked, or shares and numbers where their values
// are. Of up to ordersMost numbers it cannot know whether they are ratings that a rule divides.
func (t *tally) valuesOf(v *values, delimiter string) string {
	_, isNumber := v.style(delimiter)
	_, isShare := v.shares(delimiter)
	switch {
	case t.labels.rule != nil || t.labelValues == classLabels:
		return job.ClassLabels
	case t.labelValues != "":
		return t.labelValues
	case isShare:
		return job.ShareLabels
	case isNumber && len(v.distinct) > ordersMost && !t.labels.areClasses(t.rows):
		return job.NumberLabels
	}
	return job.ClassLabels
}

// areClasses reports whether all but a few rows, which are taken for malformed, have the label 1 or 0.
func (l *labels) areClasses(rows int) bool {
	one, zero := slices.Index(l.all, "1"), slices.Index(l.all, "0")
	return one >= 0 && zero >= 0 && rows-l.counts[one]-l.counts[zero] <= max(rows/100, strayRows)
}

// clicks completes the column of a label that counts clicks of impressions.
func (t *tally) clicks(c Column, table *Table) (Column, bool, error) {
	at := slices.IndexFunc(t.columns, func(v *values) bool { return v.name == t.impressions })
	shown, err := t.columns[at].counts(table.spec.Delimiter)
	if err != nil {
		return c, false, err
	}
	clicked, err := t.columns[t.label].counts(table.spec.Delimiter)
	if err != nil {
		return c, false, err
	}
	c.style, _ = t.columns[t.label].style(table.spec.Delimiter)
	c.Why, c.remarkable = fmt.Sprintf("clicks of %s: shares", t.impressions), true
	table.LabelMean = clicked.sum / shown.sum
	noteStyle(table.spec, c)
	return c, false, nil
}

// weightColumn returns the column of weights or of impressions, and adds it to the description.
func (t *tally) weightColumn(v *values, spec *job.Table) (Column, error) {
	c := Column{Name: v.name, Use: Weight, Why: "as asked", Distinct: len(v.distinct)}
	if _, err := v.counts(spec.Delimiter); err != nil {
		return c, err
	}
	c.style, _ = v.style(spec.Delimiter)
	noteStyle(spec, c)
	if v.name == t.weight {
		spec.Weight = v.name
		return c, nil
	}
	c.Why, spec.Impressions = "the label counts clicks of them", v.name
	return c, nil
}

// counts returns the numbers of a column of weights or counts. It is an error if there are other values than
// numbers of at least 0, of which one is more.
func (v *values) counts(delimiter string) (*numbers, error) {
	style, ok := v.style(delimiter)
	n := &v.numbers[style]
	if !ok || !(n.least >= 0 && n.most > 0) || len(v.missingTexts()) > 0 {
		return nil, fmt.Errorf("column %q: weights and counts must be numbers of at least 0 in all rows, "+
			"and some of them more: correct the file, or choose another column", v.name)
	}
	return n, nil
}

// shares reports whether values are shares: numbers from 0 to 1, some of them between, and more than two
// different ones, which can be classes.
func (v *values) shares(delimiter string) (style decode.Style, ok bool) {
	style, ok = v.style(delimiter)
	n := &v.numbers[style]
	return style, ok && n.least >= 0 && n.most <= 1 && n.fractions > 0 && len(v.distinct) > 2
}

// isComplete returns an error if some rows have no label.
func (v *values) isComplete() error {
	missing := v.missingTexts()
	if len(missing) == 0 {
		return nil
	}
	return missingLabel(v.name, missing[0])
}

// missingLabel is the error for a label that is missing in some rows.
func missingLabel(column, text string) error {
	return fmt.Errorf("label %q is missing, %q, in some rows: leave these rows out of the file", column, text)
}

// positives are texts that mean a positive label beside any other text.
var positives = []string{"1", "1.0", "true", "t", "yes", "y", "positive", "click", "clicked"}

// classes are the texts of positive and of negative rows.
type classes struct{ positive, negative []string }

// classes returns the texts of positive and of negative rows, each at least one. Where neither a rule nor a
// text says which are positive, it is the rarer one of two.
func (l *labels) classes(column string, rows int) (c classes, err error) {
	empty := slices.IndexFunc(l.all, func(text string) bool { return text == "" || isMissing(text) })
	switch {
	case l.rule == nil && l.areClasses(rows):
		return classes{[]string{"1"}, []string{"0"}}, nil // the reader reports the few other rows
	case empty >= 0 && len(l.all) > 1:
		return c, missingLabel(column, l.all[empty])
	case l.rule != nil:
		return l.byRule(column)
	case len(l.all) == 1:
		return c, fmt.Errorf("label %q is %q in all %d rows that were read, so there is nothing to "+
			"learn: shuffle a sorted file, or name another label", column, shortText(l.all[0]), rows)
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
			l.shown())
	}
	slices.Sort(numbers)
	return fmt.Errorf("label %q has %d values, from %v to %v: say which are positive, as with "+
		"--positive '>=%v', or learn the numbers, with --label-values numbers", column, len(numbers),
		numbers[0], numbers[len(numbers)-1], numbers[len(numbers)*3/5])
}

// shown returns the first values, for messages.
func (l *labels) shown() (texts []string) {
	for _, text := range l.all[:min(len(l.all), labelsShown)] {
		texts = append(texts, shortText(text))
	}
	return texts
}

// shortText returns at most 40 letters of a text, for messages.
func shortText(text string) string {
	const longest = 40
	if letters := []rune(text); len(letters) > longest {
		return string(letters[:longest]) + "…"
	}
	return text
}

// byRule returns the texts of both classes by a rule. It is an error if no row has one of the rule's texts,
// which is more often a slip than a value to come.
func (l *labels) byRule(column string) (c classes, err error) {
	if len(l.all) > labelsMost {
		return c, fmt.Errorf("label %q has more than %d values, such as %q: write 1 and 0 in the file",
			column, labelsMost, l.shown())
	}
	for _, text := range l.rule.texts {
		if !slices.Contains(l.all, text) {
			return c, fmt.Errorf("--positive: label %q is %q in no row that was read; it has values such as "+
				"%q", column, shortText(text), l.shown())
		}
	}
	for _, text := range l.all {
		if _, reason := decode.ParseNumber(text); reason != "" && l.rule.texts == nil {
			return c, fmt.Errorf("label %q is %q in some rows, which is no number: a comparison cannot say "+
				"whether it is positive", column, shortText(text))
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
		return c, fmt.Errorf("--positive: label %q has values such as %q, which are all %s", column,
			l.shown(), class)
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

// positiveRule says which labels are positive: certain texts, or the numbers on one side of a limit.
type positiveRule struct {
	texts   []string // nil: numbers are compared
	compare string   // >=, >, <= or <
	limit   float64
}

// parsePositive parses a rule: texts between commas, or a comparison such as >=4. Blanks around them do not
// count.
func parsePositive(text string) (*positiveRule, error) {
	text = strings.TrimSpace(text)
	for _, compare := range []string{">=", "<=", ">", "<"} {
		number, ok := strings.CutPrefix(text, compare)
		if !ok {
			continue
		}
		limit, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || math.IsNaN(limit) {
			return nil, fmt.Errorf("%q: want texts, as in yes,maybe, or a comparison with a number, as in "+
				">=4", shortText(text))
		}
		return &positiveRule{compare: compare, limit: limit}, nil
	}
	texts := strings.Split(text, ",")
	for i := range texts {
		texts[i] = strings.TrimSpace(texts[i])
	}
	return &positiveRule{texts: texts}, nil
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
