package parquet

import (
	"fmt"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go"

	"tandem/algo/job"
	"tandem/datasets/internal/decode"
)

// described is a decode.ParquetTable.
type described struct {
	*opened
	infos   []decode.ParquetColumn
	columns []column // as infos; zero where a column has a problem
}

// openTable is a decode.ParquetOpener.
func openTable(file io.ReaderAt, size int64) (table decode.ParquetTable, err error) {
	defer recoverDamage(&err)
	t, err := open(file, size, &job.Table{})
	if err != nil {
		return nil, err
	}
	d := &described{opened: t}
	for _, path := range t.file.Schema().Columns() {
		if n := len(d.infos); n > 0 && d.infos[n-1].Name == path[0] {
			continue // another part of a nested column
		}
		info, c := describe(t.file, path[0])
		d.infos, d.columns = append(d.infos, info), append(d.columns, c)
	}
	return d, nil
}

// describe returns what a file says of a column.
func describe(f *parquet.File, name string) (decode.ParquetColumn, column) {
	info := decode.ParquetColumn{Name: name}
	c, err := findOne(f, name, ids, false)
	if err != nil {
		number, failed := findOne(f, name, numeric, false)
		if failed != nil {
			problem := strings.TrimPrefix(err.Error(), fmt.Sprintf("column %q ", name))
			problem, _, _ = strings.Cut(problem, ": ")
			info.Problem = strings.TrimPrefix(problem, "is ")
			return info, column{}
		}
		info.Kind = decode.Fraction
		if number.decimal {
			info.Kind = decode.Decimal
		}
		return info, number
	}
	leaf, _ := f.Schema().Lookup(f.Schema().Columns()[c.index]...)
	kind := leaf.Node.Type()
	switch {
	case c.isList:
		info.Kind = decode.List
	case strings.HasPrefix(kind.String(), "TIMESTAMP"):
		info.Kind = decode.Time
	case kind.Kind() == parquet.ByteArray || kind.Kind() == parquet.FixedLenByteArray:
		info.Kind = decode.Text
	default:
		info.Kind = decode.Whole
	}
	return info, c
}

// Columns implements decode.ParquetTable.
func (d *described) Columns() []decode.ParquetColumn { return d.infos }

// Rows implements decode.ParquetTable.
func (d *described) Rows() int { return int(d.file.NumRows()) }

// Texts implements decode.ParquetTable.
func (d *described) Texts(number, rows int, use func(row int, text string)) (err error) {
	defer recoverDamage(&err)
	c, done := &d.columns[number], 0
	for g := range d.groups {
		n := min(int(d.groups[g].NumRows()), rows-done)
		if n == 0 { // an empty row group, or all rows are read
			continue
		}
		if err = d.check(g, c); err == nil {
			err = d.groupTexts(g, c, n, func(row int, text string) { use(done+row, text) })
		}
		if err != nil {
			return fmt.Errorf("column %q: %w", c.name, err)
		}
		done += n
	}
	return nil
}

// Values implements decode.ParquetTable.
func (d *described) Values(number int, use func(text string)) (err error) {
	defer recoverDamage(&err)
	c := &d.columns[number]
	for g := range d.groups {
		if d.groups[g].NumRows() == 0 {
			continue
		}
		if err = d.check(g, c); err == nil {
			err = d.groupValues(g, c, use)
		}
		if err != nil {
			return fmt.Errorf("column %q: %w", c.name, err)
		}
	}
	return nil
}

// groupValues passes the values of a row group to use.
func (d *described) groupValues(group int, c *column, use func(text string)) error {
	all := c.cursor(d.groups[group].ColumnChunks()[c.index])
	defer all.close()
	var text []byte
	for {
		if err := all.fill(); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("%w (%w)", errDamaged, err)
		}
		for i := range all.held {
			if v := &all.held[i]; !c.isList || v.DefinitionLevel() >= c.present {
				text = c.appendText(text[:0], v)
				use(string(text))
			}
		}
	}
}

// groupTexts passes the texts of the first rows of a row group to use.
func (d *described) groupTexts(group int, c *column, rows int, use func(row int, text string)) error {
	all := c.cursor(d.groups[group].ColumnChunks()[c.index])
	defer all.close()
	var text []byte
	for row := -1; ; {
		err := all.fill()
		if err != nil && err != io.EOF {
			return fmt.Errorf("%w (%w)", errDamaged, err)
		}
		if err == io.EOF {
			if row++; row != rows {
				return fmt.Errorf("%w (%d values for %d rows)", errDamaged, row, rows)
			}
			use(row-1, string(text))
			return nil
		}
		for i := range all.held {
			v := &all.held[i]
			if v.RepetitionLevel() > 0 {
				text = append(text, '|')
			} else {
				if row >= 0 {
					use(row, string(text))
				}
				if row++; row == rows {
					return nil
				}
				text = text[:0]
			}
			if !c.isList || v.DefinitionLevel() >= c.present {
				text = c.appendText(text, v)
			}
		}
	}
}
