package model_test

import (
	"reflect"
	"strings"
	"testing"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
)

// A network that was traced has the sizes and the cost that it was traced with, and one that was not is
// refused.
func TestTracedNetworksHaveALayout(t *testing.T) {
	schema := &batch.Schema{PrefixBits: 8, Dense: []string{"age"}, Labels: []string{"click"},
		Slots: []batch.Slot{{Name: "user", Dim: 4}}}
	own := model.Default()
	own.Kind, own.EmbeddingDim, own.Top, own.BatchNorm = model.FeedForward, 4, []int{16, 8}, true
	want, err := model.LayoutOf(own, schema)
	if err != nil {
		t.Fatal(err)
	}
	traced := model.Spec{Kind: model.Torch, File: "net.py", Class: "Net", EmbeddingDim: 4,
		Traced: model.NewTraced(want)}
	if err := traced.Validate(); err != nil {
		t.Fatal(err)
	}
	got, err := model.LayoutOf(traced, schema)
	if err != nil {
		t.Fatal(err)
	}
	same := *want
	same.Tensors, same.Variances = nil, nil // their names and places are not traced
	if !reflect.DeepEqual(got, &same) {
		t.Errorf("%+v, want %+v", got, &same)
	}
	traced.Traced.Buckets[0] = -1
	if err := traced.Validate(); err == nil || !strings.Contains(err.Error(), "traced.buckets = [-1") {
		t.Error(err)
	}
	traced.Traced = nil
	if _, err = model.LayoutOf(traced, schema); err == nil || !strings.Contains(err.Error(), "job.yaml") {
		t.Error(err)
	}
}
