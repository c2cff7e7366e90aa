package infer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tandem/datasets"
	"tandem/datasets/internal/decode"
)

// values is what the rows so far say of a column.
type values struct {
	name     string
	kind     decode.ValueKind
	problem  string              // why no job can use the column, "" if one can
	distinct map[uint64]struct{} // hashes of the texts
	empty    int                 // rows without a value
	// emptyFirst counts the rows without a value that have the first label of the file, and filledFirst the
	// others with this label.
	emptyFirst, filledFirst int
	numbers                 int // values that are numbers
	// missing counts, by text, values that may stand for a missing number.
	missing   map[string]int
	fractions int  // numbers that are not whole
	rising    bool // every value is a number above the one before
	last      float64
	lists     int // values with a bar between others
	bars      int // their number in all values
}

func newValues(name string, kind decode.ValueKind) *values {
	return &values{name: name, kind: kind, distinct: map[uint64]struct{}{}, missing: map[string]int{},
		rising: true}
}

// add adds the field of a row, which has the first label of the file or another one.
func (v *values) add(field string, first bool) {
	v.distinct[datasets.CategoryID(field)] = struct{}{}
	if field == "" {
		v.empty++
		if first {
			v.emptyFirst++
		}
		return
	}
	if first {
		v.filledFirst++
	}
	if strings.Contains(strings.Trim(field, listSeparator), listSeparator) {
		v.lists++
	}
	v.bars += strings.Count(field, listSeparator)
	if isMissing(field) {
		v.missing[field]++
		return
	}
	number, reason := decode.ParseNumber(field)
	if reason != "" {
		v.rising = false
		return
	}
	if v.numbers > 0 && number <= v.last {
		v.rising = false
	}
	v.numbers++
	v.last = number
	if strings.ContainsAny(field, ".eE") {
		v.fractions++
	}
}

const (
	listSeparator = "|"
	// ownValues is the share of the rows above which a column has too many values: a row of the test set will
	// hardly meet one of them.
	ownValues = 0.9
	// rowsMin is the number of rows below which shares say too little.
	rowsMin = 100
	// leakRows is the number of rows with a value, and without one, from which a label that follows is no
	// chance.
	leakRows = 20
)

// column decides what a column is for. The rules, of which the first that fits decides:
//
//  1. one value in all rows: ignored, it says nothing
//  2. filled in where the label is positive, and only there: ignored, it is known only after the label
//  3. numbers, some with fractions: a number
//  4. whole numbers that rise from row to row: ignored, they number the rows
//  5. whole numbers, over 90 % of which are different: a number
//  6. whole numbers: an id, since most are codes, and ids can follow a quantity too
//  7. texts, over 90 % of which are different: ignored, test rows have values that training has not met
//  8. texts with a bar in over a third of the values: a list of ids
//  9. texts: an id
//
// Where the file says what values are, rule 3 is for floating-point numbers, rules 3 to 6 are not for texts,
// rule 8 is for lists, and instants are ignored, since they rise or are no feature.
func (v *values) column(rows int, firstIsPositive bool) Column {
	c := Column{Name: v.name, Distinct: len(v.distinct), Empty: float64(v.empty) / float64(rows),
		Use: Ignored}
	filled := rows - v.empty
	numbers := filled                 // values that are numbers, if the column is one of numbers
	for _, count := range v.missing { // order-free: a sum
		numbers -= count
	}
	share := float64(c.Distinct) / float64(max(filled, 1))
	many := filled >= rowsMin && share > ownValues
	isNumber := v.numbers == numbers && numbers > 0 && v.kind != decode.Text && v.kind != decode.List
	switch {
	case v.problem != "":
		c.Why = v.problem
	case c.Distinct == 1:
		c.Why = "the same in all rows"
	case v.isKnownAfterwards(rows, firstIsPositive):
		c.Why = "filled only where the label is positive"
	case v.kind == decode.Time:
		c.Why = "times"
	case v.kind == decode.Fraction:
		c.Use, c.Why = Number, "floating-point numbers"
	case isNumber && v.fractions > 0:
		c.Use, c.Why = Number, "numbers with fractions"
	case isNumber && v.rising && filled >= rowsMin:
		c.Why = "rises from row to row"
	case isNumber && many:
		c.Use, c.Why = Number, "whole numbers, most of them different"
	case isNumber:
		c.Use, c.Why = ID, "whole numbers that repeat"
	case v.kind == decode.List:
		c.Use, c.Why = ID, "lists of ids"
	case many:
		c.Why = fmt.Sprintf("%.0f %% of the values are different", 100*share)
	case 3*v.lists > filled && v.kind == decode.AnyText:
		c.Use, c.Why, c.Separator = ID, "lists of texts", listSeparator
	default:
		c.Use, c.Why = ID, "texts that repeat"
	}
	return c
}

// Sizes of values in memory: see batch.Batch.
const (
	idBytes     = 8
	offsetBytes = 4
	numberBytes = 4
)

// idBytes returns the mean number of bytes of a row's ids in memory.
func (v *values) idBytes(separator string, rows int) float64 {
	ids := rows
	if separator != "" || v.kind == decode.List {
		ids += v.bars
	}
	return offsetBytes + idBytes*float64(ids)/float64(rows)
}

// isMissing reports whether a text stands for a missing number among numbers.
func isMissing(text string) bool {
	return slices.Contains([]string{"na", "n/a", "nan", "null", "none", `\n`, "?", "-"},
		strings.ToLower(text))
}

// missingTexts returns the texts that stand for missing numbers in the rows so far, sorted.
func (v *values) missingTexts() []string {
	texts := slices.Sorted(maps.Keys(v.missing))
	if v.empty > 0 {
		texts = slices.Insert(texts, 0, "")
	}
	return texts
}

// isKnownAfterwards reports whether the rows with a value, and at most one in a hundred of the others, are
// positive.
func (v *values) isKnownAfterwards(rows int, firstIsPositive bool) bool {
	filled := rows - v.empty
	if filled < leakRows || v.empty < leakRows {
		return false
	}
	positiveFilled, positiveEmpty := v.filledFirst, v.emptyFirst
	if !firstIsPositive {
		positiveFilled, positiveEmpty = filled-v.filledFirst, v.empty-v.emptyFirst
	}
	return 100*positiveFilled >= 99*filled && 100*positiveEmpty <= v.empty
}
