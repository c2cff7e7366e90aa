package parquet_test

import (
	"os"
	"path/filepath"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/datasets/internal/input/inputtest"
)

// Every reader of a Parquet file closes it, also if the file is damaged.
func TestParquetFilesAreClosed(t *testing.T) {
	files := inputtest.Counted()
	whole, err := os.ReadFile(filepath.Join("testdata", "snappy.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "t.parquet")
	url := inputtest.Scheme + path
	data := parquetConfig(func(*job.Table) {})
	data.Path = url
	for text, isValid := range map[string]bool{string(whole): true, string(whole[:len(whole)/2]): false,
		"": false} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for what, read := range map[string]func() error{
			"Open":     func() error { _, err := datasets.Open(data, ""); return err },
			"ReadRows": func() error { _, err := datasets.ReadRows(data, url); return err },
			"ReadFeatures": func() error {
				return datasets.ReadFeatures(data, make([]batch.Scaling, 2), url,
					func(*batch.Batch, float64) error { return nil })
			},
			"EachID": func() error { return datasets.EachID(data, url, "user", func(string, uint64) {}) },
		} {
			before := files.Opened
			if err := read(); (err == nil) != isValid {
				t.Errorf("%s of %d bytes: error %v", what, len(text), err)
			}
			if files.Open != 0 || files.Opened == before {
				t.Errorf("%s of %d bytes: %d of %d files stay open", what, len(text), files.Open,
					files.Opened-before)
				files.Open = 0
			}
		}
	}
}
