package datasets

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"tandem/algo/numeric/batch"
)

// CSVSpec says what the columns of a delimited text file mean. Columns that no
// field mentions are read over.
type CSVSpec struct {
	// Delimiter is one character between fields; empty means a comma.
	Delimiter string `yaml:"delimiter,omitempty"`
	// Comment is one character; lines that begin with it are left out. Empty
	// means that there are none.
	Comment string `yaml:"comment,omitempty"`
	// Columns are the names of the columns of a file without a header. Empty
	// means that the first line of every file holds the names.
	Columns []string `yaml:"columns,omitempty"`
	// Slots are the id columns, in the order of the schema.
	Slots []CSVSlot `yaml:"slots"`
	// Numeric names the numeric columns.
	Numeric []string `yaml:"numeric,omitempty"`
	// EmptyNumeric is the value of an empty numeric field, before
	// standardisation; without it an empty field is a bad row.
	EmptyNumeric *float64 `yaml:"empty-numeric,omitempty"`
	// Label names the label column.
	Label string `yaml:"label"`
	// FurtherLabels name more label columns, each of which needs a head of the
	// model.
	FurtherLabels []string `yaml:"further-labels,omitempty"`
	// Positive and Negative list the texts that mean label 1 and label 0; any
	// other is a bad row. Both empty means "1" and "0".
	Positive []string `yaml:"positive,omitempty"`
	Negative []string `yaml:"negative,omitempty"`
}

// CSVSlot is one id column.
type CSVSlot struct {
	Column string `yaml:"column"`
	// Separator cuts the field into several ids, for example "|"; an empty field
	// has none. Empty means one id a row, and the empty field is an id too.
	Separator string `yaml:"separator,omitempty"`
}

// Validate checks every field and names the one at fault.
func (s *CSVSpec) Validate() error {
	if s.Delimiter != "" && !isDelimiter(s.Delimiter) {
		return fmt.Errorf("delimiter: %q: must be one character, not a quote or line end", s.Delimiter)
	}
	if s.Comment != "" && (!isDelimiter(s.Comment) || s.Comment == s.delimiter()) {
		return fmt.Errorf("comment: %q: must be one character other than delimiter, quote and line end", s.Comment)
	}
	if len(s.Slots) == 0 {
		return errors.New("slots: empty: name at least one id column")
	}
	if s.Label == "" {
		return errors.New("label: empty: name the label column")
	}
	if (len(s.Positive) == 0) != (len(s.Negative) == 0) {
		return errors.New("positive, negative: list the label texts of both, or of neither for 1 and 0")
	}
	if e := s.EmptyNumeric; e != nil && !(math.Abs(*e) <= math.MaxFloat32) {
		return fmt.Errorf("empty-numeric: %v: must be finite", *e)
	}
	for i, text := range s.Positive {
		if slices.Contains(s.Negative, text) {
			return fmt.Errorf("positive[%d]: %q is in negative too", i, text)
		}
	}
	return s.validateNames()
}

func isDelimiter(s string) bool {
	r, size := utf8.DecodeRuneInString(s)
	return size == len(s) && r != utf8.RuneError && r != '"' && r != '\r' && r != '\n' && r != 0
}

// validateNames checks that every column has one use and exists.
func (s *CSVSpec) validateNames() error {
	for _, f := range []struct {
		field string
		count int
	}{
		{"columns", len(s.Columns)}, {"slots", len(s.Slots)}, {"numeric", len(s.Numeric)},
		{"further-labels", len(s.FurtherLabels)},
	} {
		if f.count > columnsMax {
			return fmt.Errorf("%s: %d columns: must be at most %d", f.field, f.count, columnsMax)
		}
	}
	for i, name := range s.Columns {
		if slices.Contains(s.Columns[:i], name) {
			return fmt.Errorf("columns[%d]: %q is there twice", i, name)
		}
	}
	used := []string{s.Label}
	check := func(field, name string) error {
		switch {
		case name == "":
			return fmt.Errorf("%s: empty: name a column", field)
		case slices.Contains(used, name):
			return fmt.Errorf("%s: column %q has another use already", field, name)
		case len(s.Columns) > 0 && !slices.Contains(s.Columns, name):
			return fmt.Errorf("%s: %q is not in columns", field, name)
		}
		used = append(used, name)
		return nil
	}
	if len(s.Columns) > 0 && !slices.Contains(s.Columns, s.Label) {
		return fmt.Errorf("label: %q is not in columns", s.Label)
	}
	for i, slot := range s.Slots {
		if err := check(fmt.Sprintf("slots[%d].column", i), slot.Column); err != nil {
			return err
		}
	}
	for i, name := range s.FurtherLabels {
		if err := check(fmt.Sprintf("further-labels[%d]", i), name); err != nil {
			return err
		}
	}
	for i, name := range s.Numeric {
		if err := check(fmt.Sprintf("numeric[%d]", i), name); err != nil {
			return err
		}
	}
	return nil
}

func (s *CSVSpec) delimiter() string {
	if s.Delimiter == "" {
		return ","
	}
	return s.Delimiter
}

func (s *CSVSpec) schema() batch.Schema {
	return newSchema(s.slotNames(), s.Numeric, s.LabelNames()...)
}

func (s *CSVSpec) slotNames() []string {
	names := make([]string, len(s.Slots))
	for i, slot := range s.Slots {
		names[i] = slot.Column
	}
	return names
}
