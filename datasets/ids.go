package datasets

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/datasets/internal/decode"
	"tandem/datasets/internal/input"
)

// EachID calls use with the text and the id of every value of an id column, in the order of the rows of a
// file, which may have further columns and lack others of data. Of a column with a separator, a row has
// several values or none. It ends with the first bad row: see ReadFeatures, whose errors it has.
func EachID(data job.Data, path, column string, use func(text string, id uint64)) error {
	t := data.Table()
	if t == nil {
		return fmt.Errorf("datasets: the model was trained on data of kind %s, and ids can be read only for "+
			"kinds %s and %s", data.Kind, job.KindCSV, job.KindParquet)
	}
	at := slices.IndexFunc(t.Slots, func(c job.IDColumn) bool { return c.Column == column })
	if at < 0 {
		return fmt.Errorf("datasets: the slot %s", job.Unknown(column, t.SlotNames()))
	}
	each := eachText
	if data.Format() == job.KindParquet {
		each = eachParquetText
	}
	var ids []uint64
	err := each(t, path, t.Slots[at], func(field string, c job.IDColumn) {
		texts := []string{field}
		if c.Separator != "" {
			texts = strings.Split(field, c.Separator)
		}
		ids = appendIDs(ids[:0], field, c)
		for i, id := range ids {
			use(strings.TrimSpace(texts[i]), id)
		}
	})
	if err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	return nil
}

// eachText passes the fields of a column of a CSV file, with its description.
func eachText(t *job.Table, path string, c job.IDColumn, use func(string, job.IDColumn)) error {
	in, err := input.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	records, err := decode.NewRecordReader(in, t.FieldDelimiter(), t.Comment, t.Columns)
	if err != nil {
		return err
	}
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
		use(record[at], c)
	}
}

// eachParquetText passes the values of a column of a Parquet file as fields, lists with a separator.
func eachParquetText(_ *job.Table, path string, c job.IDColumn, use func(string, job.IDColumn)) error {
	file, closer, err := OpenParquet(path)
	if err != nil {
		return err
	}
	defer closer.Close()
	columns := file.Columns()
	at := slices.IndexFunc(columns, func(other decode.ParquetColumn) bool { return other.Name == c.Column })
	switch {
	case at < 0:
		return fmt.Errorf("%s: no column %q", path, c.Column)
	case columns[at].Problem != "":
		return fmt.Errorf("%s: column %q: %s", path, c.Column, columns[at].Problem)
	case columns[at].Kind == decode.List:
		c.Separator = "|" // of Texts
	}
	err = file.Texts(at, math.MaxInt, func(_ int, text string) { use(text, c) })
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
