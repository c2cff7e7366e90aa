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
	schema, derived, means, err := featureColumns(&data)
	if err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	f := format{Format: decode.Format{Schema: schema}}
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
	err = read(f, t, path, dropped, each)
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

func readTextFeatures(f format, t *job.Table, path string, dropped *droppedRows,
	use func(*batch.Batch, float64) error) error {
	in, err := input.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	f.Table = csvTable(t)
	f.Table.NewDecoder = func(header *decode.RecordReader) (decode.RecordDecoder, error) {
		return newCSVDecoder(t, nil, header)
	}
	return f.Each(in, dropped.skip(path), parallel.Cores(), decode.BlockBytes, func(b *batch.Batch) error {
		read, size := in.Position()
		return use(b, float64(read)/float64(max(size, 1)))
	})
}

func readParquetFeatures(f format, t *job.Table, path string, dropped *droppedRows,
	use func(*batch.Batch, float64) error) error {
	unlabelled := *t
	unlabelled.Label, unlabelled.FurtherLabels = "", nil
	f.kind, f.table = job.KindParquet, &unlabelled
	return f.parquetGroups(path, dropped, use)
}

// Features are the values of the columns of rows, in the order of a table.
type Features struct {
	// IDs has the texts of each id column, one a row, and Weights those of the column of the weights of its
	// ids. They are not read of a column without, and may be nil if no column has some.
	IDs, Weights [][]string
	Numbers      [][]float32 // of each numeric column; NaN is a missing number, which becomes the mean
}

// FeatureRows returns rows that are not in a file, as ReadFeatures would read them from a table of data, of
// kind csv or parquet.
func FeatureRows(data job.Data, scaling []batch.Scaling, in Features) (*batch.Batch, error) {
	b, means, err := featureRows(data, in)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	return means.scaled(b, scaling), nil
}

// featureRows is FeatureRows with numbers as they are, and without those of means.
func featureRows(data job.Data, in Features) (*batch.Batch, meanColumns, error) {
	t := data.Table()
	schema, derived, means, err := featureColumns(&data)
	if err != nil {
		return nil, nil, err
	}
	b := &batch.Batch{Slots: make([]batch.Jagged, len(in.IDs))}
	for s, texts := range in.IDs {
		b.Samples = len(texts)
		var weights []string
		if t.Slots[s].Weights != "" {
			weights = in.Weights[s]
		}
		if b.Slots[s], err = featureIDs(&schema.Slots[s], t.Slots[s], texts, weights); err != nil {
			return nil, nil, err
		}
	}
	for c, values := range in.Numbers {
		b.Samples = len(values)
		if b.Dense == nil {
			b.Dense = make([]float32, len(values)*len(in.Numbers))
		}
		for row, value := range values {
			b.Dense[row*len(in.Numbers)+c] = value
		}
	}
	b, err = derived.withSlots(b)
	return b, means, err
}

// featureColumns returns the schema of the columns of a table without labels, and what follows from them:
// derived slots and means.
func featureColumns(data *job.Data) (schema batch.Schema, derived derivation, means meanColumns, err error) {
	schema = featureSchema(data.Table())
	setWeightScales(data.Slots, &schema)
	all := schema
	if derived, err = newDerivation(data.Derived, &all); err == nil {
		means, err = newMeanColumns(data.Means, &all)
	}
	return schema, derived, means, err
}

// featureIDs returns the ids of a slot, from the texts of its column and, if it has one, that of weights.
func featureIDs(slot *batch.Slot, column job.IDColumn, texts, weights []string) (batch.Jagged, error) {
	own := batch.Jagged{Offsets: make([]int32, 1, len(texts)+1), IDs: make([]uint64, 0, len(texts))}
	for row, text := range texts {
		text = strings.TrimSpace(text)
		if !slot.Weighted {
			own.IDs = appendIDs(own.IDs, text, column)
			own.Offsets = append(own.Offsets, int32(len(own.IDs)))
			continue
		}
		written := ""
		if column.Weights != "" {
			written = strings.TrimSpace(weights[row])
		}
		ids, of, bad := appendWeighted(nil, nil, text, written, column)
		if bad != nil {
			return own, fmt.Errorf("row %d: column %s: %q: %s", row+1, bad.Column, bad.Value, bad.Reason)
		}
		if err := slot.CheckWeights(of); err != nil {
			return own, fmt.Errorf("row %d: column %s: %w", row+1, column.Column, err)
		}
		own.IDs, own.Weights = append(own.IDs, ids...), append(own.Weights, of...)
		own.Offsets = append(own.Offsets, int32(len(own.IDs)))
	}
	return own, nil
}
