package parquet_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/datasets"
)

// Parquet files that arrive have the rows that they have as a data set of their own.
func TestStreamOfParquetFiles(t *testing.T) {
	file := filepath.Join("testdata", "snappy.parquet")
	table := &job.Table{Label: "click", Slots: []job.IDColumn{{Column: "user"}, {Column: "item"}},
		Numeric: []string{"price"}}
	want, err := datasets.ReadRows(job.Data{Kind: job.KindParquet, Parquet: table}, file)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, name := range []string{"a.parquet", "b.parquet"} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data := job.Data{Kind: job.KindFollow, Path: folder, Parquet: table}
	s, _, err := datasets.Follow(t.Context(), data, "", "", nil, func(time.Duration) {})
	if err != nil {
		t.Fatal(err)
	}
	j := job.Default()
	if err := s.Begin(&j, filepath.Join(t.TempDir(), "ledger")); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for step := range 2 {
		rows, first, end, err := s.Next(step)
		if err != nil || rows == nil {
			t.Fatalf("%v, error %v", rows, err)
		}
		if first != step || end != step+1 || rows.Samples != want.Batch.Samples ||
			rows.Slots[0].IDs[0] != want.Batch.Slots[0].IDs[0] {
			t.Errorf("step %d: block from %d to %d with %d rows", step, first, end, rows.Samples)
		}
	}
}
