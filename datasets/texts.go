package datasets

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/datasets/internal/adult"
	"tandem/datasets/internal/input"
)

// Texts returns the texts of ids, by column and id, as far as the first rows of a data set have them: its
// test rows, if they have a file of their own. Generated data have none.
func Texts(data job.Data, dataDir string, rows int) (map[string]map[uint64]string, error) {
	if data.Kind == job.KindSynthetic {
		return nil, nil
	}
	columns, first, err := firstTexts(data, dataDir, rows)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	all := map[string]map[uint64]string{}
	for i, name := range columns {
		column := job.IDColumn{Column: name}
		if t := data.Table(); t != nil {
			at := slices.IndexFunc(t.Slots, func(c job.IDColumn) bool { return c.Column == name })
			if at < 0 {
				continue
			}
			column = t.Slots[at]
		}
		all[name] = map[uint64]string{}
		for _, row := range first {
			if i >= len(row) {
				continue // a bad row
			}
			text, _, _ := cutWeight(strings.TrimSpace(row[i]), column.WeightSeparator)
			if ids := appendIDs(nil, text, column); len(ids) == 1 {
				all[name][ids[0]] = text
			}
		}
	}
	return all, nil
}

// firstTexts returns the first rows of a data set.
func firstTexts(data job.Data, dataDir string, rows int) (columns []string, first [][]string, err error) {
	var head *Head
	if data.Kind == job.KindAdultIncome {
		in, err := input.New("adult.test.gz", strings.NewReader(adult.Test()))
		if err != nil {
			return nil, nil, err
		}
		if head, err = readHead(in, rows); err != nil {
			return nil, nil, err
		}
		columns, first = head.records(adultColumns())
		return columns, first, nil
	}
	path, err := locate(dataDir, cmp.Or(data.Test, data.Path))
	if err != nil {
		return nil, nil, err
	}
	if data.Kind == job.KindParquet {
		return ParquetHead(path, rows)
	}
	if head, err = ReadHead(path, rows); err != nil {
		return nil, nil, err
	}
	columns, first = head.Table(data.Kind, data.CSV)
	return columns, first, nil
}
