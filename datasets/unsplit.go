package datasets

import (
	"fmt"
	"strings"

	"tandem/algo/job"
	"tandem/datasets/internal/decode"
	"tandem/datasets/internal/input"
)

// How many rows of a file unsplit reads, and the fewest fields of a column that it judges by.
const (
	unsplitRows = 200
	unsplitMin  = 10
)

// unsplit returns a note for each column of a CSV file whose fields look like several ids, as "12|7|40", and
// are one id each, since the job gives it no separator. It reads the first rows, and says nothing of a file
// that it cannot read: who reads all of it says why.
func unsplit(data *job.Data, dataDir, path string) (notes []string) {
	if data.Kind != job.KindCSV {
		return nil
	}
	path, err := locate(dataDir, path)
	if err != nil {
		return nil
	}
	in, err := input.Open(path)
	if err != nil {
		return nil
	}
	defer in.Close()
	t := data.CSV
	r, err := decode.NewRecordReader(in, t.FieldDelimiter(), t.Comment, t.Columns)
	if err != nil {
		return nil
	}
	positions, err := r.Positions(t.SlotNames())
	if err != nil {
		return nil
	}
	seen := make([]struct {
		fields, lists int
		list          string
	}, len(positions))
	for range unsplitRows {
		record, err := r.NextRecord()
		if err != nil {
			break
		}
		for i, at := range positions {
			if record[at] != "" {
				seen[i].fields++
			}
			if strings.Contains(strings.Trim(record[at], "|"), "|") {
				seen[i].lists++
				seen[i].list = record[at]
			}
		}
	}
	for i, slot := range t.Slots {
		if s := seen[i]; slot.Separator == "" && s.fields >= unsplitMin && 2*s.lists >= s.fields {
			notes = append(notes, fmt.Sprintf("column %s: fields such as %q are one id each; if they are "+
				"several, write separator: \"|\" below its name in data.csv.slots", slot.Column, s.list))
		}
	}
	return notes
}
