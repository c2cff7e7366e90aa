package datasets

import (
	"fmt"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/decode"
	"tandem/datasets/internal/input"
	"tandem/internal/parallel"
)

// ReadFeatures reads the rows of a file for a model that was trained on data, whose numeric columns
// have the scaling. The file has a header with the columns of data, in any order, and may have
// further ones; it needs no label, and labels are not read. ReadFeatures calls use with some
// thousands of rows at a time, in the order of the file, and ends with its first error. A bad row
// is an error: there would be no prediction for it.
//
// Data must be of kind csv. Errors are those of Open.
func ReadFeatures(data job.Data, scaling []Scaling, path string, use func(rows *batch.Batch) error) error {
	if data.Kind != job.KindCSV {
		return fmt.Errorf("datasets: the model was trained on data of kind %s, and rows without labels can "+
			"be read only for kind %s: write its data with cmd/data convert, and train on those",
			data.Kind, job.KindCSV)
	}
	in, err := input.Open(path)
	if err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	defer in.Close()
	t := data.CSV
	f := decode.Format{Schema: newSchema(t.SlotNames(), t.Numeric), Table: csvTable(t)}
	f.Table.NewDecoder = func(header *decode.RecordReader) (decode.RecordDecoder, error) {
		return newCSVDecoder(t, nil, header)
	}
	dropped, rows := &droppedRows{}, 0
	err = f.Each(in, dropped.skip(path), parallel.Cores(), decode.BlockBytes, func(b *batch.Batch) error {
		if rows += b.Samples; b.Samples == 0 {
			return nil
		}
		standardise(b, scaling)
		return use(b)
	})
	if err == nil && rows == 0 {
		err = noRows(path, dropped)
	}
	if err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	return nil
}
