package datasets

import (
	"fmt"
	"strings"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/decode"
	"tandem/datasets/internal/input"
	"tandem/internal/parallel"
)

// ReadFeatures reads the rows of a file for a model that was trained on data, whose numeric columns
// have the scaling. The file has the columns of data, in any order, and may have further ones; it needs
// no label, and labels are not read. ReadFeatures calls use with some thousands of rows at a time, in the
// order of the file, with the share of the file that has been read, and ends with its first error. A bad
// row is an error: there would be no prediction for it.
//
// Data must be of kind csv, whose files have a header, or parquet. Errors are those of Open.
func ReadFeatures(data job.Data, scaling []batch.Scaling, path string,
	use func(rows *batch.Batch, share float64) error) error {
	t, err := featureTable(data)
	if err == nil {
		err = checkFormat(data, path)
	}
	if err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	schema := newSchema(t.SlotNames(), t.Numeric)
	derived, err := newDerivation(data.Derived, &schema)
	var means meanColumns
	if err == nil {
		means, err = newMeanColumns(data.Means, &schema)
	}
	if err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	dropped, rows := &droppedRows{}, 0
	each := func(b *batch.Batch, share float64) error {
		if rows += b.Samples; b.Samples == 0 {
			return nil
		}
		b, err := derived.withSlots(b)
		if err != nil {
			return err
		}
		return use(means.scaled(b, scaling), share)
	}
	read := readTextFeatures
	if data.Format() == job.KindParquet {
		read = readParquetFeatures
	}
	err = read(t, path, dropped, each)
	if err == nil && rows == 0 {
		err = noRows(path, dropped)
	}
	if err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	return nil
}

// featureTable returns the description of the table of data on which a model was trained.
func featureTable(data job.Data) (*job.Table, error) {
	if t := data.Table(); t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("the model was trained on data of kind %s, and rows without labels can be read "+
		"only for kinds %s and %s: write its data with cmd/data convert, and train on those", data.Kind,
		job.KindCSV, job.KindParquet)
}

// checkFormat returns an error if a file is not of the kind of data on which a model was trained.
func checkFormat(data job.Data, path string) error {
	isParquet, err := input.IsParquet(path)
	if err == nil && isParquet != (data.Format() == job.KindParquet) {
		is := map[bool]string{true: "a Parquet file", false: "no Parquet file"}[isParquet]
		err = fmt.Errorf("%s: %s, and the model was trained on data of kind %s", path, is, data.Format())
	}
	return err
}

func readTextFeatures(t *job.Table, path string, dropped *droppedRows,
	use func(*batch.Batch, float64) error) error {
	in, err := input.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	f := decode.Format{Schema: newSchema(t.SlotNames(), t.Numeric), Table: csvTable(t)}
	f.Table.NewDecoder = func(header *decode.RecordReader) (decode.RecordDecoder, error) {
		return newCSVDecoder(t, nil, header)
	}
	return f.Each(in, dropped.skip(path), parallel.Cores(), decode.BlockBytes, func(b *batch.Batch) error {
		read, size := in.Position()
		return use(b, float64(read)/float64(max(size, 1)))
	})
}

func readParquetFeatures(t *job.Table, path string, dropped *droppedRows,
	use func(*batch.Batch, float64) error) error {
	unlabelled := *t
	unlabelled.Label, unlabelled.FurtherLabels = "", nil
	f := format{kind: job.KindParquet, table: &unlabelled}
	return f.parquetGroups(path, dropped, use)
}

// FeatureRows returns rows that are not in a file, as ReadFeatures would read them: the texts of each id
// column and the numbers of each numeric column of data, of kind csv or parquet, in its order, one value a
// row. NaN is a missing number, which becomes the mean.
func FeatureRows(data job.Data, scaling []batch.Scaling, ids [][]string, numbers [][]float32) (*batch.Batch,
	error) {
	t := data.Table()
	schema := newSchema(t.SlotNames(), t.Numeric)
	derived, err := newDerivation(data.Derived, &schema)
	var means meanColumns
	if err == nil {
		means, err = newMeanColumns(data.Means, &schema)
	}
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	b := &batch.Batch{Slots: make([]batch.Jagged, len(ids))}
	for s, texts := range ids {
		b.Samples = len(texts)
		slot := batch.Jagged{Offsets: make([]int32, 1, len(texts)+1), IDs: make([]uint64, 0, len(texts))}
		for _, text := range texts {
			slot.IDs = appendIDs(slot.IDs, strings.TrimSpace(text), t.Slots[s])
			slot.Offsets = append(slot.Offsets, int32(len(slot.IDs)))
		}
		b.Slots[s] = slot
	}
	for c, values := range numbers {
		b.Samples = len(values)
		if b.Dense == nil {
			b.Dense = make([]float32, len(values)*len(numbers))
		}
		for row, value := range values {
			b.Dense[row*len(numbers)+c] = value
		}
	}
	if b, err = derived.withSlots(b); err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	return means.scaled(b, scaling), nil
}
