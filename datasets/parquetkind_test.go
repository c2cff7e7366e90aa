package datasets

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// This test program does not link package parquet.
func TestParquetIsRefusedWhereItCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.parquet", "PAR1\x15\x00")
	cfg := Config{Kind: Parquet, Path: "a.parquet", Parquet: &CSVSpec{Slots: []CSVSlot{{Column: "u"}}, Label: "l"}}
	if _, err := Open(cfg, dir); err == nil || !strings.HasSuffix(err.Error(), "this program reads no Parquet: import tandem/datasets/parquet in its main package") {
		t.Errorf("error %v", err)
	}
	if _, err := ReadHead(filepath.Join(dir, "a.parquet"), 1); err == nil || !strings.HasSuffix(err.Error(), "a Parquet file: describe its columns in a job file, with kind parquet") {
		t.Errorf("as text: error %v", err)
	}
	if _, err := ReadHead(filepath.Join(dir, "none.parquet"), 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: error %v", err)
	}
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Parquet = nil }, `parquet: must be given for kind "parquet"`},
		{func(c *Config) { c.Parquet.Delimiter = "," }, "parquet.delimiter, comment, columns: "},
		{func(c *Config) { c.Parquet.Slots[0].Separator = "|" }, "parquet.slots[0].separator: "},
		{func(c *Config) { c.Parquet.Label = "" }, "parquet.label: empty"},
	} {
		bad := cfg
		bad.Parquet = &CSVSpec{Slots: []CSVSlot{{Column: "u"}}, Label: "l"}
		c.change(&bad)
		if err := bad.Validate(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}
