package datasets

import (
	"fmt"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// Rows holds the samples of one file, neither split nor standardised, and without drawn
// negatives.
type Rows struct {
	Schema batch.Schema // as Dataset.Schema
	Batch  *batch.Batch
	// DroppedRows is the number of bad rows that were skipped, and BadRows are the first few
	// of them.
	DroppedRows int
	BadRows     []*BadRowError
	Notes       []string // as Dataset.Notes
}

// ReadRows reads one file of data.Kind, which must be a kind that reads files. Of the other
// fields it uses CSV, Parquet, OnBadRow and Cache. A relative path starts in the working
// folder. Errors are those of Open.
// A missing number is NaN.
func ReadRows(data job.Data, path string) (*Rows, error) {
	data.Path, data.Train, data.Test, data.Split, data.Negatives = "", path, path, job.Split{},
		job.NegativeSampling{}
	data.Slots, data.Derived, data.Means = nil, nil, nil
	data.Kind, data.Complete = data.Format(), ""
	if err := data.Validate(); err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	f, dropped, cache := formatOf(&data), &droppedRows{policy: data.OnBadRow}, newColumnCache(data.Cache)
	read, err := f.readPath(path, dropped, cache)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	if data.Kind == job.KindLibFM {
		f.Schema = splitFields(f.Schema, read)
	}
	return &Rows{
		Schema: f.Schema, Batch: read, DroppedRows: dropped.count, BadRows: dropped.first, Notes: cache.notes,
	}, nil
}
