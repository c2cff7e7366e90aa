package embedding

import (
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/table"
)

// Room for more values than the rows have is a mistake of the caller, which no read hides.
func TestReadsPanicOnSurplusValues(t *testing.T) {
	j := job.Default()
	schema := batch.Schema{PrefixBits: 8, Slots: []batch.Slot{{Name: "a", Dim: 4}, {Name: "b", Dim: 8}}}
	tables, err := NewTables(&j, schema.Dims(), table.Heap{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := NewShard(schema.Dims(), tables, nil)
	signs := []uint64{schema.Signer(0).Prefix() + 1, schema.Signer(1).Prefix() + 1}
	for name, read := range map[string]func([]float32) error{
		"Lookup":   func(v []float32) error { return s.Lookup(BatchKey{}, signs, v) },
		"Create":   func(v []float32) error { return s.Create(0, signs, v) },
		"Snapshot": func(v []float32) error { return s.Snapshot(signs, v) },
	} {
		if err := read(make([]float32, 12)); err != nil {
			t.Error(err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s took 13 values for rows of 12", name)
				}
			}()
			t.Log(read(make([]float32, 13)))
		}()
	}
}
