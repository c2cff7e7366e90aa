package infer

import (
	"fmt"

	"tandem/algo/job"
	"tandem/datasets"
	"tandem/datasets/internal/decode"
)

// Parquet infers the columns of a Parquet file, whose types say which can be ids and which numbers. Columns
// of types that no job can use are ignored. Otherwise it is as CSV. The program must import package
// datasets/parquet.
func Parquet(path string, o Options) (*Table, error) {
	file, closer, err := datasets.OpenParquet(path)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	defer closer.Close()
	columns := file.Columns()
	header := make([]string, len(columns))
	for i, c := range columns {
		header[i] = c.Name
	}
	t := &tally{most: min(rowsMax, valuesMax/max(len(columns), 1))}
	if err := t.name(header, o); err != nil {
		return nil, refused(path, err)
	}
	if problem := columns[t.label].Problem; problem != "" {
		return nil, &columnError{path, fmt.Errorf("label %q: %s", columns[t.label].Name, problem)}
	}
	if file.Rows() == 0 {
		return nil, fmt.Errorf("datasets: %s: %w", path, datasets.ErrNoRows)
	}
	if err := t.readColumns(file); err != nil {
		return nil, fmt.Errorf("datasets: %s: %w", path, err)
	}
	table, err := t.table(&job.Table{}, o)
	if err != nil {
		return nil, refused(path, err)
	}
	table.Data, table.RowsInFile = job.Data{Kind: job.KindParquet, Parquet: table.spec}, file.Rows()
	table.noteRows("")
	return table, nil
}

// readColumns reads rows column after column, the label first.
func (t *tally) readColumns(file decode.ParquetTable) error {
	t.rows = min(t.most, file.Rows())
	positive := make([]bool, t.rows)
	if err := file.Texts(t.label, t.rows, func(row int, text string) {
		positive[row] = t.labels.add(text)
	}); err != nil {
		return err
	}
	for i, c := range file.Columns() {
		t.columns[i].kind, t.columns[i].problem = c.Kind, c.Problem
		if c.Problem != "" {
			continue
		}
		if err := file.Texts(i, t.rows, func(row int, text string) {
			t.columns[i].add(text, positive[row])
		}); err != nil {
			return err
		}
	}
	return nil
}
