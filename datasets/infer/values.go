package infer

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"tandem/datasets"
	"tandem/datasets/internal/decode"
)

// values is what the rows so far say of a column.
type values struct {
	name      string
	kind      decode.ValueKind
	separator string              // of lists, where the kind says that values are some: "" in Parquet files
	some      string              // the first value that is not empty
	problem   string              // why no job can use the column, "" if one can
	distinct  map[uint64]struct{} // hashes of the texts
	empty     int                 // rows without a value
	// emptyFirst counts the rows without a value that have the first label of the file, and filledFirst the
	// others with this label.
	emptyFirst, filledFirst int
	numbers                 [styles]numbers
	// missing counts, by text, values that may stand for a missing number.
	missing map[string]int
	signs   int // values that may be numbers with signs around them
	lists   int // values with a bar between others
	bars    int // their number in all values
	parts   parts
}

// parts is what the elements of values say that are lists, or have a colon.
type parts struct {
	some       int  // such values
	texts      bool // an element is no number
	fractions  int  // elements that are numbers with a point
	unweighted bool // an element does not end in a colon and a number
	weights    int  // elements that end in a colon and a number with a point
}

// add adds a value.
func (p *parts) add(field string) {
	if p.some++; p.texts && p.unweighted {
		return
	}
	fraction := func(text string, contradicted *bool) int {
		if _, reason := decode.ParseNumber(strings.TrimSpace(text)); reason != "" {
			*contradicted = true
		}
		return min(strings.Count(text, "."), 1)
	}
	for element := range strings.SplitSeq(field, listSeparator) {
		p.fractions += fraction(element, &p.texts)
		at := strings.LastIndex(element, weightSeparator)
		p.weights += fraction(element[at+1:], &p.unweighted)
		p.unweighted = p.unweighted || at != strings.Index(element, weightSeparator) || at <= 0 // 15:04:05.9
	}
}

// styles is the number of styles of numbers.
const styles = 3

// numbers is what the rows so far say of a column whose numbers have one style.
type numbers struct {
	count          int  // of values that are numbers
	fractions      int  // of these, that are not whole
	pointed        int  // of these, that are whole, but are written with a point or an exponent
	rises          bool // every number is above the one before
	last           float64
	least, most    float64
	sum            float64
	isContradicted bool // a value is no number in this style
}

// add adds a number, and whether it is written with a point or an exponent.
func (n *numbers) add(x float64, pointed bool) {
	if n.count == 0 {
		n.least, n.most, n.rises = x, x, true
	} else if x <= n.last {
		n.rises = false
	}
	n.count++
	n.last, n.least, n.most, n.sum = x, min(n.least, x), max(n.most, x), n.sum+x
	switch {
	case x != math.Trunc(x):
		n.fractions++
	case pointed:
		n.pointed++
	}
}

func newValues(name string, kind decode.ValueKind) *values {
	return &values{name: name, kind: kind, distinct: map[uint64]struct{}{}, missing: map[string]int{}}
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
	v.some = cmp.Or(v.some, field)
	if first {
		v.filledFirst++
	}
	if strings.Contains(strings.Trim(field, listSeparator), listSeparator) {
		v.lists++
	}
	v.bars += strings.Count(field, listSeparator)
	if strings.ContainsAny(field, listSeparator+weightSeparator) {
		v.parts.add(field)
	}
	if isMissing(field) {
		v.missing[field]++
		return
	}
	x, reason := decode.ParseNumber(field)
	if bare, ok := decode.Bare(field); reason != "" && ok {
		v.signs++
		field = bare
		x, reason = decode.ParseNumber(field)
	}
	sameInAll, pointed := !strings.ContainsFunc(field, isSeparator), strings.ContainsAny(field, ".eE")
	for style := range decode.Style(styles) {
		n := &v.numbers[style]
		if n.isContradicted {
			continue
		}
		if style != decode.DecimalPoint && !sameInAll {
			x, reason = style.Parse(field)
		}
		if n.isContradicted = reason != ""; !n.isContradicted {
			n.add(x, pointed)
		}
	}
}

// isSeparator reports whether a character means something else in some styles than in others.
func isSeparator(c rune) bool { return c == ',' || c == '.' || c == ' ' || c > unicode.MaxASCII }

// style returns the style of a column of numbers: the plain one if all values are numbers in it. Numbers that
// may have thousands or a decimal comma, as 16,711, have a decimal comma in a file with semicolons between
// columns. In one with commas they cannot: values with commas are quoted there, and may be lists. It reports
// false if the column has other values than numbers.
func (v *values) style(delimiter string) (s decode.Style, ok bool) {
	order := []decode.Style{decode.DecimalPoint, decode.Thousands, decode.DecimalComma}
	switch delimiter {
	case ";":
		order[1], order[2] = order[2], order[1]
	case ",":
		order = order[:2]
	}
	for _, s := range order {
		if n := &v.numbers[s]; !n.isContradicted && n.count > 0 {
			return s, true
		}
	}
	return 0, false
}

const (
	listSeparator = decode.ListSeparator
	// weightSeparator stands between an id and its weight, as in rock:0.5.
	weightSeparator = ":"
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
//  3. numbers, some with fractions, a decimal comma, commas between thousands, or a percent or currency sign:
//     a number
//  4. whole numbers that rise from row to row, or that have each value between the least and the largest
//     once: ignored, they number the rows
//  5. whole numbers, over 90 % of which are different: a number
//  6. whole numbers: an id, since most are codes, and ids can follow a quantity too
//  7. lists of numbers, some with a point, as 0.5 or 17.0: ignored, they are no ids. Lists whose elements all
//     end in a colon and a number, some with a point: ids with weights
//  8. texts, over 90 % of which are different: ignored, test rows have values that training has not met
//  9. texts with a bar in over a third of the values: a list of ids
//  10. texts: an id
//
// Where some are missing, whole numbers may be written with a point, as programs do that know no missing
// whole number: rules 4 to 6 are for these too.
//
// Where the file says what values are, rule 3 is for decimals and for floating-point numbers unless they are
// such whole numbers and repeat, rules 3 to 6 are not for texts, rule 9 is for lists, and instants are
// ignored, since they rise or are no feature.
func (v *values) column(rows int, firstIsPositive bool, delimiter string) Column {
	c := Column{Name: v.name, Distinct: len(v.distinct), Empty: float64(v.empty) / float64(rows),
		Use: Ignored}
	filled := rows - v.empty
	share := float64(c.Distinct) / float64(max(filled, 1))
	many := filled >= rowsMin && share > ownValues
	style, isNumber := v.style(delimiter)
	isNumber = isNumber && v.kind != decode.Text && v.kind != decode.List
	isList := 3*v.lists > filled && v.kind == decode.AnyText || v.kind == decode.List
	n := v.numbers[style]
	c.style, c.whole, c.signs = style, isNumber && v.isWhole(&n), isNumber && v.signs > 0
	switch {
	case v.problem != "":
		c.Why = v.problem
	case c.Distinct == 1:
		c.Why = "the same in all rows"
	case v.isKnownAfterwards(rows, firstIsPositive):
		c.Why = "known only after the label"
	case v.kind == decode.Time:
		c.Why = "times"
	case v.kind == decode.Decimal:
		c.Use, c.Why = Number, "decimal numbers"
	case v.kind == decode.Fraction && (!c.whole || n.rises || many):
		c.Use, c.Why, c.whole = Number, "floating-point numbers", false
	case c.signs:
		c.Use, c.Why = Number, "numbers with %, $ or ()"
	case isNumber && style == decode.DecimalComma:
		c.Use, c.Why = Number, "numbers with a decimal comma"
	case isNumber && style == decode.Thousands:
		c.Use, c.Why = Number, "numbers such as 16,711"
	case isNumber && n.fractions+n.pointed > 0 && !c.whole:
		c.Use, c.Why = Number, "numbers with fractions"
	case isNumber && n.rises && filled >= rowsMin:
		c.Why = "rises from row to row"
	case isNumber && n.numbersRows(len(v.distinct)-min(v.empty, 1)-len(v.missing)) && filled >= rowsMin:
		c.Why = "numbers the rows"
	case isNumber && many:
		c.Use, c.Why = Number, "whole numbers, most different"
	case isNumber && c.whole:
		c.Use, c.Why = ID, "whole numbers, some missing"
	case isNumber:
		c.Use, c.Why = ID, "whole numbers that repeat"
	case v.kind != decode.Text && isList && !v.parts.texts && v.parts.fractions > 0:
		c.Why = "lists of numbers, not of ids"
	case v.hasWeights(filled):
		c.Use, c.Why = ID, idsWithWeights
		c.Separator, c.WeightSeparator = listSeparator, weightSeparator
	case v.kind == decode.List:
		c.Use, c.Why, c.Separator = ID, "lists of ids", v.separator
	case many && datasets.IsTime(v.some):
		c.Why = "times"
	case many:
		c.Why = fmt.Sprintf("%.0f %% of values are different", 100*share)
	case isList:
		c.Use, c.Why, c.Separator = ID, "lists of texts", listSeparator
	default:
		c.Use, c.Why = ID, "texts that repeat"
	}
	return c
}

// idsWithWeights describes a column of lists of ids with weights.
const idsWithWeights = "lists of ids with weights"

// hasWeights reports whether all values, of which a number are filled, are lists of ids with weights, as in
// rock:0.5|pop:1. Parquet files have weights in columns of their own.
func (v *values) hasWeights(filled int) bool {
	isText := v.kind == decode.AnyText || v.kind == decode.List && v.separator != ""
	return isText && v.lists > 0 && v.parts.some == filled && !v.parts.unweighted && v.parts.weights > 0
}

// isWhole reports whether the numbers of a column are whole ones that became floating-point numbers because
// some are missing.
func (v *values) isWhole(n *numbers) bool {
	return n.fractions == 0 && (n.pointed > 0 || v.kind == decode.Fraction) && v.kind != decode.Decimal &&
		v.empty+len(v.missing) > 0
}

// numbersRows reports whether each whole number between the least and the largest is there once, if a number
// of them are different.
func (n *numbers) numbersRows(different int) bool {
	return n.count == different && n.most-n.least == float64(n.count-1)
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
	return slices.Contains([]string{"na", "n/a", "nan", "null", "none", `\n`, "?", "-", ".", "--", "nil",
		"(null)", "<na>", "#n/a", "#na", "#value!", "#div/0!", "#ref!", "inf", "-inf", "missing"},
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
