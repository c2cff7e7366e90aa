package datasets

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"tandem/algo/job"
)

// This test program does not link package parquet.
func TestParquetNeedsItsPackage(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.parquet", "PAR1\x15\x00")
	cfg := job.Data{Kind: job.KindParquet, Path: "a.parquet",
		Parquet: &job.Table{Slots: []job.IDColumn{{Column: "u"}}, Label: "l"}}
	if _, err := Open(cfg, dir); err == nil ||
		!strings.HasSuffix(err.Error(), "this program reads no Parquet: import tandem/datasets/parquet in "+
			"its main package") {
		t.Errorf("error %v", err)
	}
	if _, err := ReadHead(filepath.Join(dir, "a.parquet"), 1); err == nil ||
		!strings.HasSuffix(err.Error(), "a Parquet file: describe its columns in a job file, with kind "+
			"parquet") {
		t.Errorf("as text: error %v", err)
	}
	if _, err := ReadHead(filepath.Join(dir, "none.parquet"), 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: error %v", err)
	}
}
