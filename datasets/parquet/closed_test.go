package parquet_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/datasets/internal/input"
)

// openFile is a file that counts those that are open.
type openFile struct {
	*os.File
	size int64
	open *int
}

// Size implements input.File.
func (f openFile) Size() int64 { return f.size }

// Close implements io.Closer.
func (f openFile) Close() error {
	*f.open--
	return f.File.Close()
}

// Every reader of a Parquet file closes it, also if the file is damaged.
func TestParquetFilesAreClosed(t *testing.T) {
	open, opened := 0, 0
	input.RegisterURLs("counted", func(url string) (input.File, error) {
		file, err := os.Open(strings.TrimPrefix(url, "counted://"))
		if err != nil {
			return nil, err
		}
		info, err := file.Stat()
		if err != nil {
			return nil, err
		}
		open++
		opened++
		return openFile{file, info.Size(), &open}, nil
	})
	whole, err := os.ReadFile(filepath.Join("testdata", "snappy.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "t.parquet")
	url := "counted://" + path
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
			before := opened
			if err := read(); (err == nil) != isValid {
				t.Errorf("%s of %d bytes: error %v", what, len(text), err)
			}
			if open != 0 || opened == before {
				t.Errorf("%s of %d bytes: %d of %d files stay open", what, len(text), open, opened-before)
				open = 0
			}
		}
	}
}
