package checkpoint_test

import (
	"path/filepath"
	"testing"

	"tandem/algo/exec/exectest"
	"tandem/algo/numeric/batch"
	"tandem/runtime/checkpoint"
)

// Models that an earlier program has written, before slots had classes and maxima, are read: testdata has one
// of version 4, whose slots differ in dimension, and one of version 5, which averages rows, too. The rows
// below are what pyarrow reads of their files.
func TestModelsOfEarlierVersionsAreRead(t *testing.T) {
	for version, want := range map[int]struct {
		folder string
		scale  batch.Scale
		tag    [2]float32
	}{
		checkpoint.VersionDims: {"version-4", batch.Unscaled,
			[2]float32{0.005876091308891773, -0.0010394265409559011}},
		checkpoint.VersionMean: {"version-5", batch.Mean,
			[2]float32{0.005273408722132444, 0.000765840639360249}},
	} {
		c := mustOpen(t, filepath.Join("testdata", want.folder))
		if err := c.Verify(); err != nil || c.Version != version {
			t.Fatalf("version %d, want %d: error %v", c.Version, version, err)
		}
		j, err := c.ParseJob()
		if err != nil {
			t.Fatal(err)
		}
		schema, err := c.Schema.Batch()
		if err != nil || schema.Slots[1].Scale != want.scale {
			t.Fatalf("%+v, error %v", schema, err)
		}
		reader, err := c.Rows()
		if err != nil {
			t.Fatal(err)
		}
		var tag [2]float32
		missing, err := reader.Read([]uint64{0x2c0bdbf481420fa}, tag[:])
		if err != nil || missing != 0 || tag != want.tag {
			t.Errorf("version %d: row %v, %d missing, error %v", version, tag, missing, err)
		}
		state := mustState(t, j, &exectest.Columns{Fields: schema, Size: 4,
			All: &batch.Batch{Samples: 4, Slots: make([]batch.Jagged, 2)}})
		if _, err := c.Restore(state); err != nil {
			t.Error(err)
		}
		if rows := rowsOf(state); len(rows) != 7 { // 2 + 2 + 1 + 2 in the four files
			t.Errorf("version %d: %d rows, want 7", version, len(rows))
		}
	}
}
