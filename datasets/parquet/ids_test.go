package parquet_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"tandem/algo/job"
	"tandem/datasets"
)

// EachID passes the ids that a training reads, in their order, with texts that lead to them: with blanks and
// bars, empty, and numbers that are written in two ways.
func TestEachIDPassesTheIDsOfATraining(t *testing.T) {
	type row struct {
		User  string   `parquet:"user"`
		Shop  *int64   `parquet:"shop,optional"`
		Tags  []string `parquet:"tags,list"`
		Click bool     `parquet:"click"`
	}
	folder := t.TempDir()
	table, text := filepath.Join(folder, "t.parquet"), filepath.Join(folder, "t.csv")
	if err := parquet.WriteFile(table, []row{
		{" a", new(int64(7)), []string{" a", "b|c", ""}, true}, {"a", nil, nil, false},
		{"", new(int64(-1)), []string{""}, false}, {"a|b", new(int64(7)), []string{"x"}, true},
	}); err != nil {
		t.Fatal(err)
	}
	const rows = "user,shop,tags,click\n a ,5.0,x| y||,1\n\"a|b\",5,,0\n\"q, \"\"r\"\"\",,x,0\n,5.5,|,1\n"
	if err := os.WriteFile(text, []byte(rows), 0o644); err != nil {
		t.Fatal(err)
	}
	lines := filepath.Join(folder, "t.jsonl")
	const objects = `{"user":" a ","shop":5.0,"tags":["x","b|c"," y"],"click":1}` + "\n" +
		`{"user":"a;b","shop":"5","tags":[],"click":0}` + "\n" + `{"tags":"x;z","click":0}` + "\n"
	if err := os.WriteFile(lines, []byte(objects), 0o644); err != nil {
		t.Fatal(err)
	}
	of := job.Table{Label: "click",
		Slots: []job.IDColumn{{Column: "user"}, {Column: "shop"}, {Column: "tags"}}}
	split := of
	split.Slots = []job.IDColumn{{Column: "user"}, {Column: "shop", Whole: true},
		{Column: "tags", Separator: "|"}}
	semicolons := split
	semicolons.Slots = slices.Clone(split.Slots)
	semicolons.Slots[2].Separator = ";"
	for path, data := range map[string]job.Data{
		lines: {Kind: job.KindCSV, CSV: &semicolons}, table: {Kind: job.KindParquet, Parquet: &of},
		text: {Kind: job.KindCSV, CSV: &split},
	} {
		read, err := datasets.ReadRows(data, path)
		if err != nil {
			t.Fatal(err)
		}
		for s, c := range of.Slots {
			var got []uint64
			err := datasets.EachID(data, path, c.Column, func(text string, id uint64) {
				got = append(got, id)
				if of, err := datasets.IDOf(data, c.Column, text); err != nil || of != id {
					t.Errorf("%s, %s: %q has the id %d, not %d (%v)", path, c.Column, text, of, id, err)
				}
			})
			if want := read.Batch.Slots[s].IDs; err != nil || !slices.Equal(got, want) {
				t.Errorf("%s, %s: ids %v, want %v (%v)", path, c.Column, got, want, err)
			}
		}
	}
}
