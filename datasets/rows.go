package datasets

import (
	"fmt"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// Rows are the samples of one file as it holds them: not split, not
// standardised and without drawn negatives.
type Rows struct {
	Schema batch.Schema // as Dataset.Schema
	Batch  *batch.Batch
	// DroppedRows counts the bad rows that were skipped, and BadRows are the
	// first few of them.
	DroppedRows int
	BadRows     []*BadRowError
	Notes       []string // as Dataset.Notes
}

// ReadRows reads one file of cfg.Kind, which must be a kind that reads files;
// of the other fields it uses CSV, Parquet, job.OnBadRow and Cache. A relative path is
// taken from the working folder. Errors are those of Open.
func ReadRows(cfg job.Data, path string) (*Rows, error) {
	cfg.Path, cfg.Train, cfg.Test, cfg.Split, cfg.Negatives = "", path, path, job.Split{}, job.NegativeSampling{}
	cfg.Slots = nil
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	f, dropped, keep := formatOf(&cfg), &droppedRows{policy: cfg.OnBadRow}, newKeeper(cfg.Cache)
	read, err := f.readPath(path, dropped, keep)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	if cfg.Kind == job.KindLibFM {
		f.schema = libfmByField(f.schema, read)
	}
	return &Rows{Schema: f.schema, Batch: read, DroppedRows: dropped.count, BadRows: dropped.first, Notes: keep.notes}, nil
}
