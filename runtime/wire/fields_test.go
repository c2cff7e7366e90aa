package wire

import (
	"reflect"
	"slices"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/protocol/msg"
)

// This package encodes all fields of the types below. Someone who adds a field learns it from this test, and
// not from a field that is zero in another process.
func TestEveryFieldIsEncoded(t *testing.T) {
	for _, c := range []struct {
		of     any
		fields []string
	}{
		{msg.Message{}, []string{"Kind", "From", "To", "Rank", "Step", "Floor", "Samples", "StepSamples",
			"Bytes"}},
		{msg.Address{}, []string{"Role", "Index"}},
		{Identity{}, []string{"Run", "Incarnation", "View"}},
		{Chunk{}, []string{"Travels", "Bucket", "Sum", "Own", "Values", "Stats"}},
		{batch.Part{}, []string{"Batch", "FirstGroup", "Bounds"}},
		{batch.Batch{}, []string{"Samples", "Slots", "Dense", "Labels", "Weights"}},
		{batch.Jagged{}, []string{"Offsets", "IDs", "Weights"}}, // Weights are with those of all columns
		{exec.IDs{}, []string{"Samples", "FirstGroup", "Bounds", "Columns", "Packed", "Weights"}},
		{exec.Pooled{}, []string{"Values", "Winners"}},
		{exec.PooledAndIDs{}, []string{"Pooled", "IDs"}},
		{exec.Put{}, []string{"Samples", "Signs", "Sums"}},
		{compress.Signs{}, []string{"Plain", "Packed"}},
		{compress.Values{}, []string{"Form", "Floats", "Packed"}},
	} {
		var fields []string
		for f := range reflect.TypeOf(c.of).Fields() {
			fields = append(fields, f.Name)
		}
		if !slices.Equal(fields, c.fields) {
			t.Errorf("%T has fields %v, of which %v travel", c.of, fields, c.fields)
		}
	}
}
