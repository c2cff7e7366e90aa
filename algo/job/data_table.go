package job

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Table describes the columns of a delimited text file or a Parquet file. Columns that no
// field names are ignored.
type Table struct {
	// Delimiter is the character between fields; empty means a comma.
	Delimiter string `yaml:"delimiter,omitempty"`
	// Comment is one character: lines that begin with it are ignored. Empty: every line
	// counts.
	Comment string `yaml:"comment,omitempty"`
	// Columns are the names of the columns of a file without a header. Empty: the first
	// line of every file holds the names.
	Columns []string `yaml:"columns,omitempty"`
	// Slots are the id columns, in the order of the schema.
	Slots []IDColumn `yaml:"slots"`
	// Numeric names the numeric columns.
	Numeric []string `yaml:"numeric,omitempty"`
	// EmptyNumeric is the value of an empty numeric field, before standardisation;
	// without it, an empty field makes its row a bad row.
	EmptyNumeric *float64 `yaml:"empty-numeric,omitempty"`
	// Missing lists texts of numeric fields that stand for a missing number, "" among them if an empty field
	// does. A missing number becomes the mean of its column in the training rows. In a Parquet file, a null
	// is an empty field, and a value that is not a number the text nan in any case.
	Missing []string `yaml:"missing,omitempty"`
	// DecimalComma names the columns of numbers, labels among them, whose numbers have a comma before their
	// fraction, and may have dots or blanks between thousands, as in 1.234,5. The others have a dot.
	DecimalComma []string `yaml:"decimal-comma,omitempty"`
	// Thousands names the columns of numbers, labels among them, whose numbers may have commas between
	// thousands, as in 16,711.5.
	Thousands []string `yaml:"thousands,omitempty"`
	// Label names the label column.
	Label string `yaml:"label"`
	// FurtherLabels names further label columns. The model needs a head for each.
	FurtherLabels []string `yaml:"further-labels,omitempty"`
	// Positive and Negative list the texts that mean label 1 and label 0; any other text
	// makes its row a bad row. Both empty: "1" and "0".
	Positive []string `yaml:"positive,omitempty"`
	Negative []string `yaml:"negative,omitempty"`
	// LabelValues is shares if labels are numbers between 0 and 1, such as the share of the views of a row
	// that were clicked, and numbers if they are any numbers, which need a network with squared loss. Empty:
	// they are the texts of Positive and Negative.
	LabelValues string `yaml:"label-values,omitempty"`
	// Weight names a column of numbers of at least 0: what rows count in losses and metrics. They are divided
	// by their mean over the training rows. Without it, all rows count the same.
	Weight string `yaml:"weight,omitempty"`
	// Impressions names a column of counts, of which the labels count clicks: a label is then the share of
	// these that were clicked, and the row counts once for each.
	Impressions string `yaml:"impressions,omitempty"`
}

// The LabelValues.
const (
	ClassLabels  = ""        // the texts of two classes
	ShareLabels  = "shares"  // numbers between 0 and 1
	NumberLabels = "numbers" // any numbers
)

// Table returns the description of the columns of csv and Parquet files, or nil.
func (d Data) Table() *Table {
	switch d.Format() {
	case KindCSV:
		return d.CSV
	case KindParquet:
		return d.Parquet
	}
	return nil
}

// IDColumn is one id column of a table.
type IDColumn struct {
	Column string `yaml:"column"` // its name
	// Separator splits a field into several ids, for example "|"; then an empty field has
	// no ids. Empty: every field is one id, the empty field too.
	Separator string `yaml:"separator,omitempty"`
	// Whole says that whole numbers may be written as floating-point ones, as programs do where some are
	// missing: 17.0 is the id 17.
	Whole bool `yaml:"whole,omitempty"`
	// Weights names a column with a weight for each id, which multiplies its rows before they are added: a
	// column of lists in Parquet and JSON lines, and in CSV of numbers with the same separator. Any finite
	// numbers, of at least 0 for a mean.
	Weights string `yaml:"weights,omitempty"`
	// WeightSeparator stands between an id and its weight in the same field, as ":" in rock:0.5|pop:2, for
	// CSV and JSON lines. An id without it has weight 1.
	WeightSeparator string `yaml:"weight-separator,omitempty"`
}

// Weighted reports whether ids have weights.
func (c IDColumn) Weighted() bool { return c.Weights != "" || c.WeightSeparator != "" }

// validateWeights checks where the weights of ids are.
func (c IDColumn) validateWeights() error {
	switch between := c.WeightSeparator; {
	case between != "" && c.Weights != "":
		return errors.New("weight-separator: the weights are in a column of their own (weights): leave one " +
			"of them out")
	case between != "" && between == c.Separator:
		return fmt.Errorf("weight-separator: %q stands between ids already: choose another", between)
	}
	return nil
}

// LabelTexts returns the texts that mean label 1 and label 0.
func (t *Table) LabelTexts() (positive, negative []string) {
	if len(t.Positive) == 0 {
		return []string{"1"}, []string{"0"}
	}
	return t.Positive, t.Negative
}

// LabelNames returns the names of the label columns.
func (t *Table) LabelNames() []string { return append([]string{t.Label}, t.FurtherLabels...) }

// WeightName returns the name of what rows are weighted by, or "" if all count the same.
func (t *Table) WeightName() string {
	if t.Weight != "" && t.Impressions != "" {
		return t.Weight + " × " + t.Impressions
	}
	return t.Weight + t.Impressions
}

// SlotNames returns the names of the id columns.
func (t *Table) SlotNames() []string {
	names := make([]string, len(t.Slots))
	for i, slot := range t.Slots {
		names[i] = slot.Column
	}
	return names
}

// WeightColumns returns the names of the columns of weights of ids.
func (t *Table) WeightColumns() (names []string) {
	for _, slot := range t.Slots {
		if slot.Weights != "" {
			names = append(names, slot.Weights)
		}
	}
	return names
}

// FieldDelimiter returns Delimiter, or its default.
func (t *Table) FieldDelimiter() string { return cmp.Or(t.Delimiter, ",") }

// Validate checks every field and names the first invalid one.
func (t *Table) Validate() error {
	if t.Delimiter != "" && !isDelimiter(t.Delimiter) {
		return fmt.Errorf("delimiter: %q: must be one character, not a quote or line end", t.Delimiter)
	}
	if t.Comment != "" && (!isDelimiter(t.Comment) || t.Comment == t.FieldDelimiter()) {
		return fmt.Errorf("comment: %q: must be one character other than delimiter, quote and line end",
			t.Comment)
	}
	if len(t.Slots)+len(t.Numeric) == 0 {
		return errors.New("slots, numeric: empty: name at least one column of ids or of numbers")
	}
	if t.Label == "" {
		return errors.New("label: empty: name the label column")
	}
	if (len(t.Positive) == 0) != (len(t.Negative) == 0) {
		return errors.New("positive, negative: list the label texts of both, or of neither for 1 and 0")
	}
	if err := t.validateLabelValues(); err != nil {
		return err
	}
	if e := t.EmptyNumeric; e != nil && !(math.Abs(*e) <= math.MaxFloat32) {
		return fmt.Errorf("empty-numeric: %v: must be finite", *e)
	}
	if t.EmptyNumeric != nil && slices.Contains(t.Missing, "") {
		return errors.New("empty-numeric, missing: an empty field is the mean or a number: leave one " +
			"of them out")
	}
	for i, text := range t.Positive {
		if slices.Contains(t.Negative, text) {
			return fmt.Errorf("positive[%d]: %q is in negative too", i, text)
		}
	}
	return t.validateNames()
}

// validateLabelValues checks what labels are.
func (t *Table) validateLabelValues() error {
	switch {
	case !slices.Contains([]string{ClassLabels, ShareLabels, NumberLabels}, t.LabelValues):
		return fmt.Errorf("label-values: %q: must be %s or %s, or be left out", t.LabelValues, ShareLabels,
			NumberLabels)
	case t.LabelValues != ClassLabels && len(t.Positive) > 0:
		return fmt.Errorf("positive, negative: labels are %s (label-values): leave one of them out",
			t.LabelValues)
	case t.Impressions != "" && t.LabelValues+strings.Join(t.Positive, "") != "":
		return errors.New("impressions: labels are counts of clicks: leave label-values, positive and " +
			"negative out")
	}
	return nil
}

// validateParquet is Validate for a Parquet file, which defines some of the fields itself.
func (t *Table) validateParquet() error {
	if t.Delimiter != "" || t.Comment != "" || len(t.Columns) > 0 {
		return errors.New("delimiter, comment, columns: a Parquet file says itself what its columns are: " +
			"leave them out")
	}
	if len(t.DecimalComma)+len(t.Thousands) > 0 {
		return errors.New("decimal-comma, thousands: a Parquet file has numbers, and not their texts: " +
			"leave them out")
	}
	for i, slot := range t.Slots {
		if slot.Separator != "" {
			return fmt.Errorf("slots[%d].separator: a column of lists has several ids: leave it out", i)
		}
		if slot.WeightSeparator != "" {
			return fmt.Errorf("slots[%d].weight-separator: a Parquet file has weights in a column of their "+
				"own: name it by weights", i)
		}
	}
	return t.Validate()
}

func isDelimiter(s string) bool {
	r, size := utf8.DecodeRuneInString(s)
	return size == len(s) && r != utf8.RuneError && r != '"' && r != '\r' && r != '\n' && r != 0
}

// validateNames checks that every column has one use and exists.
func (t *Table) validateNames() error {
	for _, f := range []struct {
		field string
		count int
	}{
		{"columns", len(t.Columns)}, {"slots", len(t.Slots)}, {"numeric", len(t.Numeric)},
		{"further-labels", len(t.FurtherLabels)},
	} {
		if f.count > columnsMax {
			return fmt.Errorf("%s: %d columns: must be at most %d", f.field, f.count, columnsMax)
		}
	}
	for i, name := range t.Columns {
		if slices.Contains(t.Columns[:i], name) {
			return fmt.Errorf("columns[%d]: %q is there twice", i, name)
		}
	}
	used := []string{t.Label}
	check := func(field, name string) error {
		switch {
		case name == "":
			return fmt.Errorf("%s: empty: name a column", field)
		case slices.Contains(used, name):
			return fmt.Errorf("%s: column %q has another use already", field, name)
		case len(t.Columns) > 0 && !slices.Contains(t.Columns, name):
			return fmt.Errorf("%s: %q is not in columns", field, name)
		}
		used = append(used, name)
		return nil
	}
	if len(t.Columns) > 0 && !slices.Contains(t.Columns, t.Label) {
		return fmt.Errorf("label: %q is not in columns", t.Label)
	}
	for _, c := range []struct{ field, name string }{{"weight", t.Weight}, {"impressions", t.Impressions}} {
		if c.name == "" {
			continue
		}
		if err := check(c.field, c.name); err != nil {
			return err
		}
	}
	for i, slot := range t.Slots {
		if err := check(fmt.Sprintf("slots[%d].column", i), slot.Column); err != nil {
			return err
		}
	}
	for i, slot := range t.Slots {
		err := slot.validateWeights()
		if err == nil && slot.Weights != "" {
			err = check("weights", slot.Weights)
		}
		if err != nil {
			return fmt.Errorf("slots[%d].%w", i, err)
		}
	}
	for i, name := range t.FurtherLabels {
		if err := check(fmt.Sprintf("further-labels[%d]", i), name); err != nil {
			return err
		}
	}
	for i, name := range t.Numeric {
		if err := check(fmt.Sprintf("numeric[%d]", i), name); err != nil {
			return err
		}
	}
	return t.validateNumbers()
}

// validateNumbers checks that columns whose numbers are written in another way are numbers.
func (t *Table) validateNumbers() error {
	numbers := slices.Concat(t.Numeric, []string{t.Weight, t.Impressions})
	if t.LabelValues != ClassLabels || t.Impressions != "" {
		numbers = slices.Concat(numbers, t.LabelNames())
	}
	for _, f := range []struct {
		field string
		names []string
	}{{"decimal-comma", t.DecimalComma}, {"thousands", t.Thousands}} {
		for i, name := range f.names {
			if name == "" || !slices.Contains(numbers, name) {
				return fmt.Errorf("%s[%d]: %q is not in numeric", f.field, i, name)
			}
		}
	}
	for i, name := range t.Thousands {
		if slices.Contains(t.DecimalComma, name) {
			return fmt.Errorf("thousands[%d]: column %q has a decimal comma already", i, name)
		}
	}
	return nil
}
