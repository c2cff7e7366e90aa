package datasets

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/datasets/internal/decode"
	"tandem/datasets/internal/input"
)

// EachID calls use with the text and the id of every value of an id column, in the order of the rows of a
// file, which is as for ReadFeatures but needs no other column. Of a column with lists or with a separator, a
// row has several values or none. It ends with the first row that cannot be split into fields.
func EachID(data job.Data, path, column string, use func(text string, id uint64)) error {
	t, c, err := idColumn(data, column)
	if err == nil {
		err = checkFormat(data, path)
	}
	if err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	values := 0
	count := func(text string) {
		values++
		use(text, CategoryID(text))
	}
	if data.Format() == job.KindParquet {
		err = eachValue(path, column, count)
	} else {
		err = eachField(t, path, c, func(field string) { eachText(field, c, count) })
	}
	if err == nil && values == 0 {
		err = fmt.Errorf("%s: %w with a value of %s", path, ErrNoRows, column)
	}
	if err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	return nil
}

// IDOf returns the id of a value of a column, given as the files of data have it.
func IDOf(data job.Data, column, text string) (id uint64, err error) {
	_, c, err := idColumn(data, column)
	if err != nil {
		return 0, fmt.Errorf("datasets: %w", err)
	}
	if c.Separator, c.WeightSeparator = "", ""; data.Format() == job.KindParquet {
		return CategoryID(text), nil
	}
	eachText(strings.TrimSpace(text), c, func(text string) { id = CategoryID(text) })
	return id, nil
}

// idColumn returns the description of the table of data and of an id column.
func idColumn(data job.Data, column string) (t *job.Table, c job.IDColumn, err error) {
	if t, err = featureTable(data); err != nil {
		return nil, c, err
	}
	at := slices.IndexFunc(t.Slots, func(c job.IDColumn) bool { return c.Column == column })
	if at >= 0 {
		return t, t.Slots[at], nil
	}
	if slices.ContainsFunc(data.Derived, func(s job.DerivedSlot) bool { return s.Name == column }) {
		return nil, c, fmt.Errorf("the slot %s is derived from columns: its ids are in no file", column)
	}
	return nil, c, fmt.Errorf("the slot %s", job.Unknown(column, t.SlotNames()))
}

// eachText passes the texts of the ids of a field of a CSV file. appendIDs, which reads every row of a
// training, has the same rule once more: with a callback reading was some 5 % slower.
func eachText(field string, c job.IDColumn, use func(text string)) {
	pass := func(text string) {
		text, _, _ = cutWeight(text, c.WeightSeparator)
		if c.Whole {
			text = decode.WholeText(text)
		}
		use(text)
	}
	switch {
	case c.Separator == "":
		pass(field)
	case field != "":
		for value := range strings.SplitSeq(field, c.Separator) {
			pass(strings.TrimSpace(value))
		}
	}
}

// eachField passes the fields of a column of a CSV file.
func eachField(t *job.Table, path string, c job.IDColumn, use func(field string)) error {
	in, err := input.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	records, err := decode.NewRecordReader(in, t.FieldDelimiter(), t.Comment, t.Columns)
	if err != nil {
		return err
	}
	records.ReadOnly(c.Column, c.Separator)
	at, err := records.Position(c.Column)
	if err != nil {
		return err
	}
	for {
		record, err := records.NextRecord()
		if err == io.EOF {
			return nil
		}
		var bad *decode.BadRow
		if errors.As(err, &bad) {
			return &BadRowError{File: path, Line: records.Line(), Reason: bad.Reason}
		}
		if err != nil {
			return err
		}
		use(record[at])
	}
}

// eachValue passes the values of a column of a Parquet file.
func eachValue(path, column string, use func(text string)) error {
	file, closer, err := OpenParquet(path)
	if err != nil {
		return err
	}
	defer closer.Close()
	columns := file.Columns()
	at := slices.IndexFunc(columns, func(c decode.ParquetColumn) bool { return c.Name == column })
	switch {
	case at < 0:
		return fmt.Errorf("%s: no column %q", path, column)
	case columns[at].Problem != "":
		return fmt.Errorf("%s: column %q: %s", path, column, columns[at].Problem)
	}
	if err := file.Values(at, use); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
